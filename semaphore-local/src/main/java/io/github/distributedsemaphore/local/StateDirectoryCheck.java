package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.IncompatibleStateException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds or makes the state directory, and refuses one that cannot be trusted. */
final class StateDirectoryCheck {
    private static final Logger LOG = LoggerFactory.getLogger(StateDirectoryCheck.class);
    private static final Path PROCESS = Path.of("/proc/self");

    /**
     * File systems whose locks we do not trust, by the names that the operating system gives them. On some a lock does not reach
     * the other machines, on others the server drops it without a word, and none tells when a process of another machine has died.
     */
    private static final Set<String> NETWORK = words("""
            nfs nfs3 nfs4 cifs smb smb2 smb3 smbfs ncpfs ncp 9p v9fs ceph glusterfs lustre afs autofs openafs
            auristorfs coda gfs gfs2 ocfs2 gpfs beegfs orangefs pvfs2 panfs webdav davfs afpfs ftpfs virtiofs
            vboxsf vmhgfs prl_fs acfs wekafs juicefs quobyte moosefs mfs""");

    /** Mounts another one in its place, at the first use, of which only this is known: it may be of a network. */
    private static final String AUTOFS = "autofs";

    /** How a space or a backslash of a path is written in {@code /proc/self/mounts}. */
    private static final Pattern MOUNT_ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /** Programs behind FUSE that keep their files on this machine. All others are taken for remote. */
    private static final Set<String> LOCAL_FUSE = words("""
            fuseblk fuse.fuse-overlayfs fuse.ntfs-3g fuse.exfat fuse.ext4 fuse.ext2 fuse.encfs fuse.gocryptfs
            fuse.cryfs fuse.bindfs fuse.mergerfs fuse.lxcfs fuse.zfs""");

    private StateDirectoryCheck() {}

    private static Set<String> words(String text) {
        return Set.of(text.split("\\s+"));
    }

    /**
     * Returns the directory's real path.
     *
     * @throws IllegalArgumentException if it is where locks cannot be trusted
     * @throws BackendAccessException if it is not the user's alone
     * @throws IncompatibleStateException if something else is kept there
     */
    static Path prepare(LocalSettings settings) throws IOException {
        Path path = settings.directory().toAbsolutePath();
        makeIfMissing(path);
        Path real = path.toRealPath();
        if (!settings.allowNetworkFileSystem()) {
            String type = fileSystemType(real);
            boolean isAsked = type.equals(AUTOFS) && Files.exists(PROCESS);
            refuseNetwork(real, isAsked ? typeBehindAutofs(real) : type);
        }
        refuseShared(real);
        return real;
    }

    /** Many processes may begin at the same moment, and each of them makes it. */
    static void makeIfMissing(Path path) throws IOException {
        if (PrivateFiles.isDirectory(path)) {
            return;
        }
        if (!path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            throw withoutPermissions(path);
        }
        Files.createDirectories(path, PrivateFiles.DIRECTORY);
    }

    /** In a changed root the mount may be out of sight, and the type with it. */
    private static String fileSystemType(Path directory) {
        try {
            return Files.getFileStore(directory).type();
        } catch (IOException e) {
            LOG.warn(
                    "{}: the type of its file system is not known ({}); nothing is promised if it is one of a network",
                    directory,
                    e.getMessage());
            return "";
        }
    }

    /** Two file systems are mounted there, and the JDK names the one that mounts the other at the first use. */
    private static String typeBehindAutofs(Path directory) throws IOException {
        // A look into it is a use, a look at it is none.
        boolean unused = PrivateFiles.isDirectory(directory.resolve("."));
        String mounts = new String(Files.readAllBytes(PROCESS.resolve("mounts")), StandardCharsets.UTF_8);
        return typeBehindAutofs(directory.toString(), List.of(mounts.split("\n")));
    }

    /** Finds, in lines of {@code /proc/self/mounts}, what was mounted last at the place or below it; autofs if that is nothing. */
    static String typeBehindAutofs(String directory, List<String> mounts) {
        String place = "";
        String type = AUTOFS;
        for (String line : mounts) {
            String[] parts = line.split(" ");
            String at = MOUNT_ESCAPE
                    .matcher(parts[1])
                    .replaceAll(
                            code -> Matcher.quoteReplacement(Character.toString(Integer.parseInt(code.group(1), 8))));
            boolean isNearer = at.length() >= place.length() && (directory + "/").startsWith(at + "/");
            if (isNearer && (parts[2].equals(AUTOFS) || !place.isEmpty())) {
                place = at;
                type = parts[2];
            }
        }
        return type;
    }

    static void refuseNetwork(Path directory, String type) {
        if (isOfNetwork(type.toLowerCase(Locale.ROOT))) {
            throw new IllegalArgumentException(directory + " is on a file system of type '" + type
                    + "', where locks may fail without a word: give a directory on a disk of this machine, or, if you know"
                    + " that all processes of all machines see each other's locks, set allowNetworkFileSystem=true");
        }
    }

    private static boolean isOfNetwork(String type) {
        return NETWORK.contains(type) || (type.startsWith("fuse") && !LOCAL_FUSE.contains(type));
    }

    private static IllegalArgumentException withoutPermissions(Path directory) {
        return new IllegalArgumentException(directory + " is on a file system without POSIX permissions, which the"
                + " local backend needs: Linux and macOS have them");
    }

    private static void refuseShared(Path directory) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(directory, PosixFileAttributeView.class);
        if (view == null) {
            throw withoutPermissions(directory);
        }
        PosixFileAttributes attributes = view.readAttributes();
        Set<PosixFilePermission> permissions = attributes.permissions();
        if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new BackendAccessException(
                    directory + " may be written by others (" + PosixFilePermissions.toString(permissions)
                            + "), who could then take or free any slot: chmod 700 it, or give another directory",
                    null);
        }
        UserPrincipal self = self(directory);
        if (!self.equals(attributes.owner())) {
            throw new BackendAccessException(
                    directory + " belongs to " + attributes.owner() + " and not to " + self
                            + ", who runs this process: give a directory of this user",
                    null);
        }
    }

    /** Java does not tell the user of this process. On Linux its entry in /proc does, elsewhere a file that it makes. */
    private static UserPrincipal self(Path directory) throws IOException {
        if (Files.exists(PROCESS)) {
            return Files.getOwner(PROCESS);
        }
        Path ours = Files.createTempFile(directory, "whoami", ".tmp", PrivateFiles.FILE);
        try {
            return Files.getOwner(ours);
        } finally {
            Files.deleteIfExists(ours);
        }
    }
}
