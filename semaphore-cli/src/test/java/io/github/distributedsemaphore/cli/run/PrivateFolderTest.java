package io.github.distributedsemaphore.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.github.distributedsemaphore.BackendAccessException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PrivateFolderTest {
    @TempDir
    private Path temporary;

    private Path folder;

    @BeforeEach
    void setUp() {
        folder = temporary.resolve("locks");
    }

    @Test
    void isMadeForItsOwnerAloneAndFoundAgain() throws IOException {
        assertThat(PrivateFolder.prepare(folder)).isEqualTo(folder);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
                .isEqualTo("rwx------");
        assertThat(PrivateFolder.prepare(folder)).isEmptyDirectory();
    }

    @Test
    void isRefusedWhereNoneCanBeMade() {
        Path lost = folder.resolve("nowhere");

        assertThatThrownBy(() -> PrivateFolder.prepare(lost))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContainingAll(lost + " cannot hold locks", "NoSuchFile", "java.io.tmpdir");
    }

    @Test
    void isRefusedWhenOthersMayWriteToIt() throws IOException {
        PrivateFolder.prepare(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertRefused("is open to others (rwxrwxrwx)");
    }

    @Test
    void isRefusedAsALinkAlsoToAFolderOfOurs() throws IOException {
        Files.createSymbolicLink(folder, Files.createDirectory(temporary.resolve("elsewhere")));
        assertRefused("is not a directory");
    }

    @Test
    void isRefusedWhenItBelongsToAnotherUser() throws IOException {
        PrivateFolder.prepare(folder);
        UserPrincipal other =
                folder.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody");
        assumeThat(chowned(folder, other))
                .as("only root may give a folder away")
                .isTrue();
        assertRefused("belongs to nobody");
        assertThat(folder).isEmptyDirectory();
    }

    private static boolean chowned(Path folder, UserPrincipal owner) throws IOException {
        try {
            Files.setOwner(folder, owner);
            return true;
        } catch (FileSystemException e) {
            return false;
        }
    }

    private void assertRefused(String finding) {
        assertThatThrownBy(() -> PrivateFolder.prepare(folder))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContainingAll(folder + " " + finding, "remove it");
    }
}
