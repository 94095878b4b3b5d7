package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one semaphore: which are free, and their files. Lives for one operation under the semaphore's mutex, which
 * makes its answers exact.
 */
final class SlotTable implements AutoCloseable {
    private final Path directory;
    private final OwnerIndex index;
    private final long[] owners;
    private final Set<Long> alive = new HashSet<>();

    private SlotTable(Path directory, OwnerIndex index, long[] owners) {
        this.directory = directory;
        this.index = index;
        this.owners = owners;
    }

    /** Opens it for slots 1 to so many; those that the index does not know yet have that owner. */
    static SlotTable open(Path directory, int slots, long owner) throws IOException {
        OwnerIndex index = OwnerIndex.open(directory);
        try {
            index.extend(slots, owner);
            return new SlotTable(directory, index, index.read(slots));
        } catch (IOException e) {
            index.close();
            throw e;
        }
    }

    /** Opens it for all slots that have a file, and for at least so many. */
    static SlotTable openAll(Path directory, int slots) throws IOException {
        NavigableSet<Integer> files = filesAbove(directory, slots);
        return open(directory, files.isEmpty() ? slots : files.last(), OwnerIndex.UNKNOWN);
    }

    /** Tells whether a slot's last owner gave it back. */
    boolean isGivenBack(int slot) {
        return owners[slot - 1] == OwnerIndex.NOBODY;
    }

    /**
     * Locks a slot.
     *
     * @return null if it is held
     */
    @Nullable
    SlotFile tryLock(int slot) throws IOException {
        long owner = owners[slot - 1];
        // What this process holds may be open under another class loader, so that it must not even be opened here.
        if (owner != OwnerIndex.NOBODY && (alive.contains(owner) || OwnerIndex.isOfThisProcess(owner))) {
            return null;
        }
        SlotFile file = lockFile(slot);
        if (file == null && owner != OwnerIndex.NOBODY && owner != OwnerIndex.UNKNOWN) {
            // A session's slots end together when its process dies, so one that is locked speaks for the others.
            alive.add(owner);
        }
        return file;
    }

    private @Nullable SlotFile lockFile(int slot) throws IOException {
        try {
            return SlotFile.tryLock(directory, slot);
        } catch (NoSuchFileException e) {
            PrivateFiles.createFile(SlotFile.path(directory, slot));
            return SlotFile.tryLock(directory, slot);
        }
    }

    /** Tells whether a slot is held, and leaves everything as it is. */
    boolean isHeld(int slot) throws IOException {
        if (isGivenBack(slot) || Files.notExists(SlotFile.path(directory, slot))) {
            return false;
        }
        SlotFile file = tryLock(slot);
        if (file != null) {
            file.close();
        }
        return file == null;
    }

    boolean isOfThisProcess(int slot) {
        return OwnerIndex.isOfThisProcess(owners[slot - 1]);
    }

    void setOwner(int slot, long owner) throws IOException {
        index.set(slot, owner);
        owners[slot - 1] = owner;
    }

    /** Unlocks a slot that was locked here and not taken. */
    void putBack(SlotFile file) throws IOException {
        try {
            if (!isGivenBack(file.slot())) {
                setOwner(file.slot(), OwnerIndex.NOBODY);
            }
        } finally {
            file.close();
        }
    }

    /** Makes those files of slots 1 to so many that are missing. */
    void createSlots(int to, long base) throws IOException {
        for (int slot = 1; slot <= to; slot++) {
            Path path = SlotFile.path(directory, slot);
            if (Files.notExists(path)) {
                // Nobody can hold it: slots are locked under the mutex only.
                PrivateFiles.createFile(path);
                try (RandomAccessFile file = PrivateFiles.open(path)) {
                    SlotRecord.unused(base).write(file);
                }
            }
        }
    }

    /**
     * Deletes the files of slots above a number that nobody holds.
     *
     * @return how many are held
     */
    int deleteFreeAbove(int slot) throws IOException {
        int held = 0;
        for (int removed : filesAbove(directory, slot)) {
            SlotFile file = tryLock(removed);
            if (file == null) {
                held++;
            } else {
                delete(file);
            }
        }
        return held;
    }

    /** Returns the slots above a number that have a file, in ascending order. */
    static NavigableSet<Integer> filesAbove(Path directory, int slot) throws IOException {
        NavigableSet<Integer> slots = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "slot-*")) {
            for (Path file : files) {
                if (SlotFile.slotOf(file) > slot) {
                    slots.add(SlotFile.slotOf(file));
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return slots;
    }

    /** Deletes the file of a slot that is locked here, and unlocks it. */
    void delete(SlotFile file) throws IOException {
        try {
            if (file.inPlace()) {
                Files.deleteIfExists(SlotFile.path(directory, file.slot()));
            }
        } finally {
            putBack(file);
        }
    }

    /** Deletes what remains of a semaphore without slots. The holder of the mutex keeps it until it leaves. */
    static void deleteDirectory(Path directory) throws IOException {
        for (String name :
                List.of(OwnerIndex.NAME, SharedSemaphore.RELEASED, LimitFile.NAME + ".new", SharedSemaphore.MUTEX)) {
            Files.deleteIfExists(directory.resolve(name));
        }
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Another process is just creating the semaphore again, or there are foreign files here.
        }
    }

    @Override
    public void close() throws IOException {
        index.close();
    }
}
