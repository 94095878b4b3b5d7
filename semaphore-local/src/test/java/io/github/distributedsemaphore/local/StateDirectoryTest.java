package io.github.distributedsemaphore.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which directory is used, and which are refused. */
class StateDirectoryTest {
    @TempDir
    Path directory;

    private static SemaphoreBackend open(String uri) {
        return new LocalBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess(""));
    }

    @Test
    void isFoundByItsScheme() {
        assertThat(ServiceLoader.load(BackendProvider.class)).anySatisfy(provider -> {
            assertThat(provider).isInstanceOf(LocalBackendProvider.class);
            assertThat(provider.schemes()).containsExactly("local");
        });
    }

    @Test
    void aDirectoryThatOthersRemoveAtThatMomentIsNothingElse() throws Exception {
        Path raced = directory.resolve("raced");
        whileOthersMakeAndRemove(raced, 20_000, () -> PrivateFiles.createDirectory(raced));
    }

    /** Several processes begin at the same moment, where there is no state directory yet. */
    @Test
    void aDirectoryThatOthersMakeAtThatMomentIsOne() throws Exception {
        Path raced = directory.resolve("raced");
        whileOthersMakeAndRemove(raced, 2_000, () -> makeOrMiss(raced));
    }

    private static void whileOthersMakeAndRemove(Path raced, int times, ThrowableAssert.ThrowingCallable attempt)
            throws Exception {
        AtomicBoolean goesOn = new AtomicBoolean(true);
        Thread others = new Thread(() -> {
            while (goesOn.get()) {
                if (!raced.toFile().mkdir()) {
                    raced.toFile().delete();
                }
            }
        });
        others.start();
        try {
            for (int i = 0; i < times; i++) {
                assertThatCode(attempt).doesNotThrowAnyException();
            }
        } finally {
            goesOn.set(false);
            others.join();
        }
    }

    private static void makeOrMiss(Path raced) throws IOException {
        raced.toFile().delete();
        try {
            StateDirectoryCheck.makeIfMissing(raced);
        } catch (FileAlreadyExistsException e) {
            // The others removed it before the JDK looked whether it is a directory.
            assertThat(e.getFile()).isEqualTo(raced.toString());
        }
    }

    @Test
    void aLinkThatLeadsNowhereIsNoDirectory() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("nowhere"));
        assertThatThrownBy(() -> PrivateFiles.createDirectory(link))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("link");
    }

    @Test
    void everythingInItIsTheUsersAlone() throws IOException {
        Path state = directory.resolve("a/b/state");
        try (SemaphoreBackend backend = Local.open(state);
                BackendSession session = Local.session(backend, "jobs")) {
            backend.admin().create("jobs", 2);
            Local.takeOne(session);
            BackendSession.Watch watch = session.watch(() -> {});
            watch.close();
            try (Stream<Path> files = Files.walk(state)) {
                assertThat(files)
                        .hasSizeGreaterThan(6)
                        .allSatisfy(
                                file -> assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                                        .isEqualTo(Files.isDirectory(file) ? "rwx------" : "rw-------"));
            }
        }
    }

    @Test
    void aDirectoryThatOthersMayWriteIsRefused() throws IOException {
        for (String permissions : List.of("rwxrwx---", "rwx----w-", "rwxrwxrwx")) {
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(permissions));
            assertThatThrownBy(() -> Local.open(directory))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining(directory.toString())
                    .hasMessageContaining(permissions)
                    .hasMessageContaining("chmod 700");
        }
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Local.open(directory).close();
    }

    @Test
    void aFileInItsPlaceIsRefused() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertThatThrownBy(() -> Local.open(file)).isInstanceOf(IncompatibleStateException.class);
    }

    @Test
    void spellingsAndLinksLeadToTheSameSlots() throws IOException {
        Path state = directory.resolve("state");
        Path link = directory.resolve("link");
        try (SemaphoreBackend one = Local.open(state)) {
            Files.createSymbolicLink(link, state);
            one.admin().create("jobs", 1);
            try (SemaphoreBackend two = Local.open(link);
                    SemaphoreBackend three = Local.open(state.resolve("../state/."));
                    BackendSession first = Local.session(one, "jobs");
                    BackendSession second = Local.session(two, "jobs");
                    BackendSession third = Local.session(three, "jobs")) {
                Local.takeOne(first);
                assertThat(Local.take(second, 1)).isEqualTo(Answer.FULL);
                assertThat(Local.take(third, 1)).isEqualTo(Answer.FULL);
                assertThat(two.admin().describe("jobs").orElseThrow().holders()).hasSize(1);
                assertThat(Local.take(second, 1)).isEqualTo(Answer.FULL);
            }
        }
        assertThat(StateDirectory.IN_USE.size()).isZero();
    }

    @Test
    void aDirectoryThatWasMovedIsUsedWhereItIsNow() throws IOException {
        Path state = directory.resolve("state");
        Path moved = directory.resolve("moved");
        try (SemaphoreBackend before = Local.open(state)) {
            before.admin().create("jobs", 1);
            Files.move(state, moved);
            try (SemaphoreBackend after = Local.open(moved);
                    BackendSession session = Local.session(after, "jobs")) {
                assertThat(after.admin().create("more", 1)).isTrue();
                assertThat(moved.resolve("n-more")).isDirectory();
                assertThat(Local.takeOne(session).slot()).isEqualTo(1);
                assertThat(state).doesNotExist();
            }
        }
        assertThat(StateDirectory.IN_USE.size()).isZero();
    }

    @Test
    void networkFileSystemsAreRefused() {
        for (String type : List.of(
                "nfs", "nfs4", "NFS4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph", "lustre", "autofs", "fuse")) {
            assertThatThrownBy(() -> StateDirectoryCheck.refuseNetwork(directory, type))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'" + type + "'")
                    .hasMessageContaining("allowNetworkFileSystem=true");
        }
        for (String type : List.of("ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "apfs", "fuse.fuse-overlayfs")) {
            StateDirectoryCheck.refuseNetwork(directory, type);
        }
    }

    /** The JDK names what waits for the first use, whose line comes first. */
    @Test
    void behindAnAutomountCountsWhatIsMounted() {
        List<String> mounts = List.of(
                "/dev/vda / ext4 rw 0 0",
                "systemd-1 /home autofs rw,direct 0 0",
                "systemd-1 /data autofs rw,direct 0 0",
                "systemd-1 /my\\040files autofs rw,direct 0 0",
                "/etc/auto.net /net autofs rw,indirect 0 0",
                "server:/home /home nfs4 rw 0 0",
                "/dev/vdb /data ext4 rw 0 0",
                "server:/files /my\\040files nfs rw 0 0",
                "/dev/vdc /net/disk xfs rw 0 0");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/home/me/state", mounts))
                .isEqualTo("nfs4");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/data", mounts)).isEqualTo("ext4");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/my files/state", mounts))
                .isEqualTo("nfs");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/net/disk/state", mounts))
                .isEqualTo("xfs");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/net/diskless", mounts))
                .isEqualTo("autofs");
        assertThat(StateDirectoryCheck.typeBehindAutofs("/homes", mounts)).isEqualTo("autofs");
    }

    @Test
    void aNetworkFileSystemThatIsAllowedIsPromisedNothing() {
        try (SemaphoreBackend backend = Local.open(directory, "allowNetworkFileSystem=true")) {
            assertThat(backend.guarantees().notes())
                    .anySatisfy(note -> assertThat(note).contains("nothing of this holds"));
        }
    }

    @Test
    void badSettingsAreRefusedWithTheirBounds() {
        assertThatThrownBy(() -> Local.open(directory, "detection=99ms"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("100ms");
        assertThatThrownBy(() -> Local.open(directory, "allowNetworkFileSystem=yes"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'yes'");
        assertThatThrownBy(() -> open("local://host" + directory))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("local:/path");
        assertThatThrownBy(() -> open("local:relative/path"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("relative/path");
    }

    @Test
    void openingWaitsForNoLock() throws IOException {
        Path mutex = Files.createFile(directory.resolve("mutex"));
        try (Child child = Child.start("lock", mutex)) {
            child.await("LOCKED");
            child.stop();
            long start = System.nanoTime();
            try (SemaphoreBackend backend = Local.open(directory, "timeout=1s");
                    BackendSession session = Local.session(backend, "jobs")) {
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(500));
                assertThat(session.start(new ExchangeRequest(List.of(), List.of(1), 1, false)))
                        .isNull();
                assertThatThrownBy(backend::ping)
                        .isInstanceOf(BackendUnavailableException.class)
                        .hasMessageContaining("process " + child.pid() + ", which is stopped");
                child.resume();
                child.finish();
                backend.ping();
                assertThat(Local.take(session, 1)).isEqualTo(Answer.MISSING);
            }
        }
    }

    @Test
    void aPingTellsThatTheDirectoryIsGone() throws IOException {
        Path state = directory.resolve("state");
        try (SemaphoreBackend backend = Local.open(state)) {
            backend.ping();
            Files.move(state, directory.resolve("aside"));
            assertThatThrownBy(backend::ping)
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining(state.toString())
                    .hasMessageContaining("removed");
        }
    }

    @Test
    void callsEndSoonByDefaultAndWithinTheSetting() {
        try (SemaphoreBackend backend = Local.open(directory);
                SemaphoreBackend slow = Local.open(directory, "timeout=1m")) {
            assertThat(backend.guarantees().callBound()).isEqualTo(Duration.ofSeconds(15));
            assertThat(slow.guarantees().callBound()).isEqualTo(Duration.ofMinutes(3));
        }
        assertThatThrownBy(() -> Local.open(directory, "timeout=6m"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("5m");
    }

    @Test
    void promisesWhatItsSettingsSay() {
        try (SemaphoreBackend backend = Local.open(directory, "detection=200ms")) {
            assertThat(backend.guarantees().notes())
                    .anySatisfy(note -> assertThat(note).contains("after 50ms, and each other one"));
            assertThat(backend.guarantees().detectionMax()).isEqualTo(Duration.ofMillis(200));
            assertThat(backend.guarantees().has(Capability.LEASE)).isFalse();
            assertThat(backend.guarantees().has(Capability.DURABLE_FENCING)).isTrue();
        }
    }

    @Test
    void theDefaultIsTheUsersStateDirectory() {
        Map<String, String> set = Map.of("XDG_STATE_HOME", "/var/me");
        assertThat(LocalSettings.defaultDirectory(set::get, "/home/me"))
                .isEqualTo(Path.of("/var/me/distributed-semaphore"));
        Map<String, String> relative = Map.of("XDG_STATE_HOME", "me");
        Path home = Path.of("/home/me/.local/state/distributed-semaphore");
        assertThat(LocalSettings.defaultDirectory(relative::get, "/home/me")).isEqualTo(home);
        assertThat(LocalSettings.defaultDirectory(Map.<String, String>of()::get, "/home/me"))
                .isEqualTo(home);
        assertThatThrownBy(() -> LocalSettings.defaultDirectory(Map.<String, String>of()::get, "?"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("local:/path");
    }

    @Test
    void failuresSayWhetherAskingAgainMakesSense() {
        assertThat(Call.failure("It", new AccessDeniedException("/x"))).isInstanceOf(BackendAccessException.class);
        assertThat(Call.failure("It", new IOException("No space left on device")))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("nothing was done")
                .hasMessageContaining("No space left");
    }

    @Test
    void aReadOnlyFileSystemIsNoMatterOfRights() {
        // The JDK's own is one.
        Path file = Path.of(URI.create("jrt:/java.base/java/lang/Object.class"));
        FileNotFoundException e = new FileNotFoundException(file + " (schreibgeschützt)");
        assertThat(Files.isWritable(file)).isFalse();
        assertThat(Call.failure("It", PrivateFiles.reason(file, e)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("(schreibgeschützt)");
    }

    @Test
    void aStuckProcessIsNamedByItsId() {
        List<String> locks = List.of(
                "1: POSIX  ADVISORY  WRITE 4242 fe:00:1234 0 0",
                "2: POSIX  ADVISORY  WRITE 17 fe:00:99 5 5",
                "3: POSIX  ADVISORY  WRITE 4243 00:2d:99 0 0",
                "4: FLOCK  ADVISORY  WRITE 4244 fe:00:99 0 EOF",
                "5: POSIX  ADVISORY  WRITE 18 fe:00:99 0 0");
        assertThat(ProcLocks.holder(locks, "fe:00:99", 5)).hasValue(18);
        assertThat(ProcLocks.holder(locks, "fe:01:99", 5)).isEmpty();
        assertThat(ProcLocks.holder(locks, "fe:00:7", 5)).isEmpty();
    }

    /** As on btrfs. */
    @Test
    void aStuckProcessIsNamedAlsoWhereItsLockIsShownWithAnotherDevice() {
        List<String> locks = List.of(
                "1: POSIX  ADVISORY  WRITE 4242 00:2d:99 0 0",
                "2: POSIX  ADVISORY  WRITE 18 00:1f:99 0 0",
                "2: -> POSIX  ADVISORY  WRITE 5 00:1f:99 0 0");
        assertThat(ProcLocks.holder(locks, "00:20:99", 5)).hasValue(18);
        assertThat(ProcLocks.holder(locks, "00:20:99", 6)).isEmpty();
    }

    @Test
    void devicesAreWrittenAsLinuxDoesItInItsListOfLocks() {
        assertThat(ProcLocks.place(0xfe00, 99L)).isEqualTo("fe:00:99");
        assertThat(ProcLocks.place(0x2d, 7L)).isEqualTo("00:2d:7");
        assertThat(ProcLocks.place(0x120006783459aL, 7L)).isEqualTo("12345:6789a:7");
    }
}
