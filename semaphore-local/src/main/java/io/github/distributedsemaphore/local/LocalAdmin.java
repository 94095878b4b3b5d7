package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Creates, shows and changes semaphores, under the semaphore's mutex. The limit's file alone decides what there is: it is
 * written after the entries of new slots are made, so that a call that is broken off anywhere leaves the old state or the new one,
 * and entries at most that do not count.
 */
final class LocalAdmin implements BackendAdmin {
    private final StateDirectory state;
    private final Duration timeout;

    LocalAdmin(StateDirectory state, Duration timeout) {
        this.state = state;
        this.timeout = timeout;
    }

    /** One call, for one thread. */
    private static final class Operation {
        private final SharedSemaphore shared;
        private final Call call;
        /** Whether the call may have left traces. */
        private boolean changes;

        Operation(SharedSemaphore shared, Call call) {
            this.shared = shared;
            this.call = call;
        }

        /** Runs a step under the semaphore's mutex; empty if the semaphore has no directory. */
        <T> Optional<T> underMutex(Body<Optional<T>> step) throws IOException {
            if (!shared.enter(call)) {
                return Optional.empty();
            }
            try {
                return step.run(this);
            } finally {
                shared.leave();
            }
        }

        Path directory() {
            return shared.directory();
        }
    }

    /** What a call does, or a step of it. */
    @FunctionalInterface
    private interface Body<T> {
        T run(Operation operation) throws IOException;
    }

    private <T> T run(String name, Body<T> body) {
        SharedSemaphore shared = state.use(name);
        String subject = "Semaphore '" + name + "' in " + state.path();
        try (Call call = Call.within(timeout)) {
            Operation operation = new Operation(shared, call);
            try {
                state.requireFormat(call);
                return body.run(operation);
            } catch (IncompatibleStateException e) {
                throw Call.failure(subject, e);
            } catch (IOException e) {
                throw operation.changes
                        ? new OutcomeUnknownException(subject + ": broken off half-way, repeat the call: " + e, e)
                        : Call.failure(subject, e);
            }
        } finally {
            state.release(shared);
        }
    }

    @Override
    public boolean create(String name, int limit) {
        return run(name, operation -> {
            // The limit's file is replaced as a whole, so that nobody has to queue for the mutex to find it there.
            if (Files.isDirectory(operation.directory()) && isThere(operation, limit)) {
                return false;
            }
            do {
                PrivateFiles.createDirectory(operation.directory());
                Optional<Boolean> created = operation.underMutex(step -> Optional.of(createIfMissing(step, limit)));
                if (created.isPresent()) {
                    return created.get();
                }
                // Somebody destroyed just now what was left there, with the directory: again.
            } while (operation.call.nanosLeft() > 0);
            throw new NoSuchFileException(operation.directory().toString(), null, "it is deleted again and again");
        });
    }

    private static boolean isThere(Operation operation, int limit) throws IOException {
        Optional<LimitFile> stored = LimitFile.read(operation.directory());
        if (stored.isPresent() && stored.get().limit() != limit) {
            throw new LimitConflictException(
                    operation.shared.name(), stored.get().limit(), limit);
        }
        return stored.isPresent();
    }

    private boolean createIfMissing(Operation operation, int limit) throws IOException {
        if (isThere(operation, limit)) {
            return false;
        }
        store(operation, limit);
        PrivateFiles.syncDirectory(state.path(), operation.call.shield());
        return true;
    }

    /**
     * Makes the entries that a limit needs and stores the limit. A slot that was removed before may come back, and its epochs must
     * not begin where they began then: so they are drawn.
     */
    private void store(Operation operation, int limit) throws IOException {
        operation.changes = true;
        long base = state.drawEpochs(operation.call);
        operation.shared.slots(limit).prepare(limit, base);
        new LimitFile(limit, base, EpochSource.BOOT).write(operation.directory(), operation.call.shield());
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        return run(
                name,
                operation -> operation.underMutex(step -> {
                    Optional<LimitFile> stored = LimitFile.read(step.directory());
                    return stored.isEmpty()
                            ? Optional.empty()
                            : Optional.of(describe(step.shared, stored.get().limit()));
                }));
    }

    private static SemaphoreDescription describe(SharedSemaphore shared, int limit) throws IOException {
        List<Holder> holders = shared.allSlots(limit).holders(limit);
        int held = (int) holders.stream()
                .filter(holder -> holder.state() == HolderState.HELD)
                .count();
        return new SemaphoreDescription(shared.name(), limit, limit - held, holders);
    }

    @Override
    public List<String> names() {
        try (Call call = Call.within(timeout)) {
            return state.names(call).stream().sorted().toList();
        } catch (IOException e) {
            throw Call.failure("State directory " + state.path(), e);
        }
    }

    @Override
    public void resize(String name, int limit) {
        run(name, operation -> {
            Optional<LimitFile> stored = operation.underMutex(step -> {
                Optional<LimitFile> old = LimitFile.read(step.directory());
                if (old.isPresent()) {
                    store(step, limit);
                }
                return old;
            });
            if (stored.isEmpty()) {
                throw new NoSuchSemaphoreException(
                        "Semaphore '" + name + "' in " + state.path() + " does not exist: create it");
            }
            // Waiters of other processes see the limit's file change.
            operation.shared.wake(operation);
            return limit;
        });
    }

    @Override
    public boolean destroy(String name) {
        return run(name, operation -> {
            boolean existed =
                    operation.underMutex(step -> Optional.of(remove(step))).orElse(false);
            operation.shared.wake(operation);
            return existed;
        });
    }

    private static boolean remove(Operation operation) throws IOException {
        Path limit = operation.directory().resolve(LimitFile.NAME);
        if (Files.isDirectory(limit)) {
            throw new IncompatibleStateException(
                    limit + " is a directory, expected a file with the semaphore's limit: move it away", null);
        }
        operation.changes = true;
        boolean existed = Files.deleteIfExists(limit);
        if (existed) {
            PrivateFiles.syncDirectory(operation.directory(), operation.call.shield());
        }
        if (operation.shared.allSlots(0).heldAbove(0) == 0) {
            operation.shared.deleteDirectory();
        }
        return existed;
    }

    @Override
    public int retiredHolders(String name) {
        return run(
                        name,
                        operation -> operation.underMutex(step -> {
                            int limit = LimitFile.read(step.directory())
                                    .map(LimitFile::limit)
                                    .orElse(0);
                            return Optional.of(step.shared.allSlots(0).heldAbove(limit));
                        }))
                .orElse(0);
    }
}
