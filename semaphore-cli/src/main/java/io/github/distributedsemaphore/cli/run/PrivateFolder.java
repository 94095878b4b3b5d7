package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.BackendAccessException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;

/** A folder in a place that everybody may write to, such as {@code /tmp}, that nobody else may have made before us. */
final class PrivateFolder {
    private static final Set<PosixFilePermission> OURS_ALONE = PosixFilePermissions.fromString("rwx------");

    private PrivateFolder() {}

    /**
     * Makes the folder if it is missing.
     *
     * @throws BackendAccessException if it is a link or a file, another user's, or open to others, or cannot be made or
     *     written to
     */
    static Path prepare(Path folder) throws IOException {
        try {
            return makeOrCheck(folder);
        } catch (FileSystemException e) {
            throw new BackendAccessException(
                    folder + " cannot hold locks (" + e
                            + "): set the system property java.io.tmpdir to a folder of your own",
                    e);
        }
    }

    private static Path makeOrCheck(Path folder) throws IOException {
        try {
            return Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(OURS_ALONE));
        } catch (FileAlreadyExistsException e) {
            check(folder);
            return folder;
        }
    }

    private static void check(Path folder) throws IOException {
        PosixFileAttributes found = Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!found.isDirectory()) {
            throw refusal(folder, "is not a directory");
        }
        if (!OURS_ALONE.containsAll(found.permissions())) {
            throw refusal(folder, "is open to others (" + PosixFilePermissions.toString(found.permissions()) + ")");
        }
        // Java does not tell the user of this process, but a file that it makes belongs to that user.
        Path ours = fileOfOurs(folder, found.owner());
        try {
            if (!Files.getOwner(ours).equals(found.owner())) {
                throw refusal(folder, "belongs to " + found.owner());
            }
        } finally {
            Files.delete(ours);
        }
    }

    private static Path fileOfOurs(Path folder, UserPrincipal owner) throws IOException {
        try {
            return Files.createTempFile(folder, "whoami", ".tmp");
        } catch (AccessDeniedException e) {
            throw refusal(folder, "belongs to " + owner);
        }
    }

    private static BackendAccessException refusal(Path folder, String finding) {
        return new BackendAccessException(
                folder + " " + finding + ", so the locks in it cannot be trusted: remove it, or set the system property"
                        + " java.io.tmpdir to a folder of your own",
                null);
    }
}
