package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Creates, shows and changes semaphores, under the semaphore's mutex. The limit's file alone decides what there is: it is
 * written after the files of new slots are made, and before those of removed slots are deleted, so that a call that is
 * broken off anywhere leaves the old state or the new one, and files at most that the next call deletes.
 */
final class LocalAdmin implements BackendAdmin {
    private final StateDirectory state;
    private final Duration timeout;

    LocalAdmin(StateDirectory state, Duration timeout) {
        this.state = state;
        this.timeout = timeout;
    }

    private <T> T run(String name, AdminOperation.Body<T> body) {
        return AdminOperation.run(state, name, timeout, body);
    }

    @Override
    public boolean create(String name, int limit) {
        return run(name, operation -> {
            // The limit's file is replaced as a whole, so that nobody has to queue for the mutex to find it there.
            if (Files.isDirectory(operation.directory()) && isThere(operation, limit)) {
                return false;
            }
            while (true) {
                PrivateFiles.createDirectory(operation.directory());
                Optional<Boolean> created = operation.underMutex(() -> createIfMissing(operation, limit));
                if (created.isPresent()) {
                    return created.get();
                }
                // Somebody destroyed just now what was left there, with the directory: again.
            }
        });
    }

    private static boolean isThere(AdminOperation operation, int limit) throws IOException {
        Optional<LimitFile> stored = LimitFile.read(operation.directory());
        if (stored.isPresent() && stored.get().limit() != limit) {
            throw new LimitConflictException(operation.name(), stored.get().limit(), limit);
        }
        return stored.isPresent();
    }

    private boolean createIfMissing(AdminOperation operation, int limit) throws IOException {
        if (isThere(operation, limit)) {
            return false;
        }
        operation.changes();
        long base = state.drawEpochs(operation.call());
        store(operation, new LimitFile(limit, base, BootId.CURRENT));
        PrivateFiles.syncDirectory(state.path(), operation.call().shield());
        return true;
    }

    /** Brings the files in line with a limit: makes what is missing, stores the limit, deletes what is too much. */
    private static void store(AdminOperation operation, LimitFile limit) throws IOException {
        Path directory = operation.directory();
        try (SlotTable table = SlotTable.open(directory, limit.limit(), OwnerIndex.NOBODY)) {
            table.createSlots(limit.limit(), limit.base());
        }
        limit.write(directory, operation.call().shield());
        try (SlotTable table = SlotTable.openAll(directory, limit.limit())) {
            table.deleteFreeAbove(limit.limit());
        }
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        return run(
                name, operation -> operation.underMutex(() -> show(operation)).flatMap(shown -> shown));
    }

    private static Optional<SemaphoreDescription> show(AdminOperation operation) throws IOException {
        Optional<LimitFile> limit = LimitFile.read(operation.directory());
        return limit.isEmpty()
                ? Optional.empty()
                : Optional.of(SlotSurvey.describe(
                        operation.name(), operation.directory(), limit.get().limit()));
    }

    @Override
    public List<String> names() {
        try (Call call = Call.within(timeout)) {
            return state.names(call).stream().sorted().toList();
        } catch (IOException e) {
            throw Failures.of("State directory " + state.path(), e);
        }
    }

    @Override
    public void resize(String name, int limit) {
        run(name, operation -> {
            Optional<LimitFile> stored = operation
                    .underMutex(() -> {
                        Optional<LimitFile> old = LimitFile.read(operation.directory());
                        if (old.isPresent()) {
                            operation.changes();
                            // A slot that was removed before may come back: its epochs must not begin where they began
                            // then.
                            long base = state.drawEpochs(operation.call());
                            store(operation, new LimitFile(limit, base, BootId.CURRENT));
                        }
                        return old;
                    })
                    .flatMap(old -> old);
            if (stored.isEmpty()) {
                throw new NoSuchSemaphoreException(
                        "Semaphore '" + name + "' in " + state.path() + " does not exist: create it");
            }
            operation.wakeWaiters();
            return limit;
        });
    }

    @Override
    public boolean destroy(String name) {
        return run(name, operation -> {
            boolean existed = operation.underMutex(() -> remove(operation)).orElse(false);
            operation.wakeWaiters();
            return existed;
        });
    }

    private boolean remove(AdminOperation operation) throws IOException {
        Path directory = operation.directory();
        operation.changes();
        boolean existed = deleteLimit(directory.resolve(LimitFile.NAME));
        if (existed) {
            PrivateFiles.syncDirectory(directory, operation.call().shield());
        }
        try (SlotTable table = SlotTable.openAll(directory, 0)) {
            if (table.deleteFreeAbove(0) == 0) {
                operation.deleteDirectory();
            }
        }
        return existed;
    }

    private static boolean deleteLimit(Path file) throws IOException {
        if (Files.isDirectory(file)) {
            throw new IncompatibleStateException(
                    file + " is a directory, expected a file with the semaphore's limit: move it away", null);
        }
        return Files.deleteIfExists(file);
    }

    @Override
    public int retiredHolders(String name) {
        return run(
                name,
                operation -> operation
                        .underMutex(() -> {
                            int limit = LimitFile.read(operation.directory())
                                    .map(LimitFile::limit)
                                    .orElse(0);
                            return SlotSurvey.heldAbove(operation.directory(), limit);
                        })
                        .orElse(0));
    }
}
