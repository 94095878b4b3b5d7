package io.github.distributedsemaphore.local;

import java.util.Locale;
import java.util.Set;

/**
 * File systems whose locks we do not trust, by the names that the operating system gives them. On some a lock does not
 * reach the other machines, on others the server drops it without a word, and none tells when a process of another
 * machine has died.
 */
final class NetworkFileSystems {
    private static final Set<String> TYPES = Set.of(
            "nfs",
            "nfs3",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "ncpfs",
            "ncp",
            "9p",
            "v9fs",
            "ceph",
            "glusterfs",
            "lustre",
            "afs",
            "openafs",
            "auristorfs",
            "coda",
            "gfs",
            "gfs2",
            "ocfs2",
            "gpfs",
            "beegfs",
            "orangefs",
            "pvfs2",
            "panfs",
            "webdav",
            "davfs",
            "afpfs",
            "ftpfs",
            "virtiofs",
            "vboxsf",
            "vmhgfs",
            "prl_fs",
            "acfs",
            "wekafs",
            "juicefs",
            "quobyte",
            "moosefs",
            "mfs");
    /** Programs that keep their files on this machine. All others behind FUSE are taken for remote. */
    private static final Set<String> LOCAL_FUSE = Set.of(
            "fuseblk",
            "fuse.fuse-overlayfs",
            "fuse.ntfs-3g",
            "fuse.exfat",
            "fuse.ext4",
            "fuse.ext2",
            "fuse.encfs",
            "fuse.gocryptfs",
            "fuse.cryfs",
            "fuse.bindfs",
            "fuse.mergerfs",
            "fuse.lxcfs",
            "fuse.zfs");

    private NetworkFileSystems() {}

    static boolean contains(String type) {
        String name = type.toLowerCase(Locale.ROOT);
        return TYPES.contains(name) || (name.startsWith("fuse") && !LOCAL_FUSE.contains(name));
    }
}
