package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;

/**
 * File work that an interrupt cannot break off, on files that only their owner may use.
 *
 * <p>Content goes through {@link RandomAccessFile} and {@link FileOutputStream}, whose methods take no notice of
 * interrupts; a {@link FileChannel} would close itself.
 */
final class PrivateFiles {
    private static final int MOST_ATTEMPTS = 20;

    static final FileAttribute<?> FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    static final FileAttribute<?> DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private PrivateFiles() {}

    /**
     * Makes an empty file if there is none.
     *
     * @throws IncompatibleStateException if there is a link that leads nowhere: nothing can be made there, nor opened
     */
    static void createFile(Path file) throws IOException {
        try {
            Files.createFile(file, FILE);
        } catch (FileAlreadyExistsException e) {
            if (Files.isSymbolicLink(file) && Files.notExists(file)) {
                throw new IncompatibleStateException(
                        file + " is a link that leads nowhere, but a file of the semaphore is kept there: move it away",
                        e);
            }
        } catch (FileSystemException e) {
            Path directory = Objects.requireNonNull(file.getParent());
            boolean unused = isDirectory(directory);
            throw e;
        }
    }

    /** Makes a directory if there is none. Another process may remove it at any time. */
    static void createDirectory(Path directory) throws IOException {
        try {
            Files.createDirectory(directory, DIRECTORY);
        } catch (FileAlreadyExistsException e) {
            boolean unused = isDirectory(directory);
        }
    }

    /**
     * Tells whether there is a directory. Each question is one look: of two the second may find what others made or removed after the
     * first.
     *
     * @return false if there is nothing
     * @throws IncompatibleStateException if there is something else
     */
    static boolean isDirectory(Path path) throws IOException {
        try {
            if (Files.readAttributes(path, BasicFileAttributes.class).isDirectory()) {
                return true;
            }
        } catch (NoSuchFileException e) {
            // There is nothing, or a link that leads nowhere.
            if (!Files.isSymbolicLink(path)) {
                return false;
            }
        }
        throw new IncompatibleStateException(
                path + " is not a directory, but that is where a semaphore is kept: move away what is there", null);
    }

    /**
     * Opens an existing file, and says properly why it cannot.
     *
     * @param mode {@code r} or {@code rw}, see {@link RandomAccessFile}
     */
    static RandomAccessFile open(Path file, String mode) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return new RandomAccessFile(file.toFile(), mode);
            } catch (FileNotFoundException e) {
                IOException reason = reason(file, e);
                // Anything else than that it is missing may only seem so: somebody made or removed it between two
                // looks.
                if (reason instanceof NoSuchFileException || attempt == MOST_ATTEMPTS) {
                    throw reason;
                }
            }
        }
    }

    /** Finds out why a file could not be opened. */
    static IOException reason(Path file, FileNotFoundException e) {
        if (Files.isDirectory(file)) {
            throw new IncompatibleStateException(
                    file + " is a directory, but a file of the semaphore is kept there: move away what is there", e);
        }
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return new NoSuchFileException(file.toString());
        }
        if (!Files.isReadable(file) || (!Files.isWritable(file) && !isReadOnly(file, e))) {
            return new AccessDeniedException(file.toString());
        }
        return e;
    }

    /** Tells whether nobody may write, whatever the rights of the file; false where the file system is out of sight. */
    private static boolean isReadOnly(Path file, FileNotFoundException e) {
        try {
            // A read-only bind mount shows only in what the operating system says, in its language.
            return String.valueOf(e.getMessage()).contains("Read-only file system")
                    || Files.getFileStore(file).isReadOnly();
        } catch (IOException unknown) {
            return false;
        }
    }

    /** Returns what tells this file from all others that exist at the same time: device and inode. */
    static Object key(Path file) throws IOException {
        Object key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
        return Objects.requireNonNull(key, "a POSIX file system has file keys");
    }

    /** Tells whether a path leads to that very file now. */
    static boolean leadsTo(Path file, Object key) throws IOException {
        try {
            return key(file).equals(key);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /**
     * Replaces a file as a whole: a reader finds the old content or the new one, also after a crash of the machine; the new one
     * from {@link #syncDirectory} on. If it fails, the file is as it was. For one writer at a time.
     */
    static void replace(Path file, byte[] content) throws IOException {
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        Files.createFile(fresh, FILE);
        try (FileOutputStream out = new FileOutputStream(fresh.toFile())) {
            out.write(content);
            out.getFD().sync();
        }
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Makes lasting what was created, renamed and deleted in a directory. */
    static void syncDirectory(Path directory, InterruptShield shield) throws IOException {
        while (true) {
            try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
                channel.force(true);
                return;
            } catch (ClosedByInterruptException e) {
                shield.absorb();
            }
        }
    }
}
