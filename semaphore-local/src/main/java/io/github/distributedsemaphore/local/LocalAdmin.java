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

    /** What a call does. */
    @FunctionalInterface
    private interface Body<T> {
        T run(SharedSemaphore shared, Call call) throws IOException;
    }

    private <T> T run(String name, Body<T> body) {
        SharedSemaphore shared = state.use(name);
        try (Call call = Call.within(timeout)) {
            state.requireFormat(call);
            return body.run(shared, call);
        } catch (IncompatibleStateException e) {
            throw Call.failure(state.subject(name), e);
        } catch (IOException e) {
            throw Call.failure(state.subject(name), e);
        } finally {
            state.release(shared);
        }
    }

    /** Does what is left to do when others can see the change already. */
    private void complete(SharedSemaphore shared, FileMutex.FileWork rest) {
        try {
            rest.run();
        } catch (IOException e) {
            throw new OutcomeUnknownException(
                    state.subject(shared.name()) + ": broken off half-way, repeat the call: " + e, e);
        }
    }

    @Override
    public boolean create(String name, int limit) {
        return run(name, (shared, call) -> {
            Path directory = shared.directory();
            // The limit's file is replaced as a whole, so that nobody has to queue for the mutex to find it there.
            if (Files.isDirectory(directory) && isThere(shared, limit)) {
                return false;
            }
            do {
                PrivateFiles.createDirectory(directory);
                Optional<Boolean> created = shared.underMutex(call, () -> createIfMissing(shared, limit, call));
                if (created.isPresent()) {
                    return created.get();
                }
                // Somebody destroyed just now what was left there, with the directory: again.
            } while (call.nanosLeft() > 0);
            throw new NoSuchFileException(directory.toString(), null, "it is deleted again and again");
        });
    }

    private static boolean isThere(SharedSemaphore shared, int limit) throws IOException {
        Optional<LimitFile> stored = LimitFile.read(shared.directory());
        if (stored.isPresent() && stored.get().limit() != limit) {
            throw new LimitConflictException(shared.name(), stored.get().limit(), limit);
        }
        return stored.isPresent();
    }

    private boolean createIfMissing(SharedSemaphore shared, int limit, Call call) throws IOException {
        if (isThere(shared, limit)) {
            return false;
        }
        store(shared, limit, call);
        complete(shared, () -> PrivateFiles.syncDirectory(state.path(), call.shield()));
        return true;
    }

    /**
     * Makes the entries that a limit needs and stores the limit. What fails before the limit's file is replaced, as on a full
     * disk, has changed nothing. A slot that was removed before may come back, and its epochs must
     * not begin where they began then: so they are drawn.
     */
    private void store(SharedSemaphore shared, int limit, Call call) throws IOException {
        long base = state.drawEpochs(call);
        shared.slots(limit).prepare(limit, base);
        new LimitFile(limit, base, EpochSource.BOOT).replace(shared.directory());
        complete(shared, () -> PrivateFiles.syncDirectory(shared.directory(), call.shield()));
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        return run(name, (shared, call) -> shared.underMutex(call, () -> describe(shared)))
                .orElse(Optional.empty());
    }

    private static Optional<SemaphoreDescription> describe(SharedSemaphore shared) throws IOException {
        Optional<LimitFile> stored = LimitFile.read(shared.directory());
        return stored.isEmpty()
                ? Optional.empty()
                : Optional.of(describe(shared, stored.get().limit()));
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
        run(name, (shared, call) -> {
            boolean exists = shared.underMutex(call, () -> storeIfThere(shared, limit, call))
                    .orElse(false);
            if (!exists) {
                throw new NoSuchSemaphoreException(state.subject(name) + " does not exist: create it");
            }
            // Waiters of other processes see the limit's file change.
            shared.wake(this);
            return limit;
        });
    }

    private boolean storeIfThere(SharedSemaphore shared, int limit, Call call) throws IOException {
        if (LimitFile.read(shared.directory()).isEmpty()) {
            return false;
        }
        store(shared, limit, call);
        return true;
    }

    @Override
    public boolean destroy(String name) {
        return run(name, (shared, call) -> {
            boolean existed =
                    shared.underMutex(call, () -> remove(shared, call)).orElse(false);
            shared.wake(this);
            return existed;
        });
    }

    private boolean remove(SharedSemaphore shared, Call call) throws IOException {
        Path limit = shared.directory().resolve(LimitFile.NAME);
        if (Files.isDirectory(limit)) {
            throw new IncompatibleStateException(
                    limit + " is a directory, expected a file with the semaphore's limit: move it away", null);
        }
        boolean existed = Files.deleteIfExists(limit);
        complete(shared, () -> {
            if (existed) {
                PrivateFiles.syncDirectory(shared.directory(), call.shield());
            }
            if (shared.allSlots(0).heldAbove(0) == 0) {
                shared.deleteDirectory();
            }
        });
        return existed;
    }

    @Override
    public int retiredHolders(String name) {
        return run(
                        name,
                        (shared, call) -> shared.underMutex(call, () -> {
                            Optional<LimitFile> stored = LimitFile.read(shared.directory());
                            return shared.allSlots(0)
                                    .heldAbove(stored.map(LimitFile::limit).orElse(0));
                        }))
                .orElse(0);
    }
}
