package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The right backend, but that its clients leave {@link Marks}, by which a {@link ProcessMutant} goes wrong. */
final class MarkedBackend implements SemaphoreBackend {
    private final ProcessMutant mutant;
    private final SemaphoreBackend right;
    private final Path folder;

    MarkedBackend(ProcessMutant mutant, SemaphoreBackend right, Path folder) {
        this.mutant = mutant;
        this.right = right;
        this.folder = folder;
    }

    private Marks marks(String name) {
        return new Marks(folder, name);
    }

    @Override
    public Guarantees guarantees() {
        return mutant.guarantees(right.guarantees());
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new MarkedSession(mutant, right.open(name, listener), marks(name), () -> addPermit(name));
    }

    private void addPermit(String name) {
        right.admin()
                .describe(name)
                .filter(semaphore -> semaphore.limit() == 1)
                .ifPresent(semaphore -> right.admin().resize(name, 2));
    }

    @Override
    public BackendAdmin admin() {
        return new Admin(right.admin());
    }

    @Override
    public void close() {
        right.close();
    }

    private final class Admin implements BackendAdmin {
        private final BackendAdmin right;

        Admin(BackendAdmin right) {
            this.right = right;
        }

        @Override
        public boolean create(String name, int limit) {
            return right.create(name, limit);
        }

        @Override
        public Optional<SemaphoreDescription> describe(String name) {
            int more = mutant.alsoCounts(marks(name));
            return right.describe(name)
                    .map(shown -> new SemaphoreDescription(name, shown.limit(), shown.free() - more, shown.holders()));
        }

        @Override
        public List<String> names() {
            return right.names();
        }

        @Override
        public void resize(String name, int limit) {
            mutant.resize(folder, () -> right.resize(name, limit));
        }

        @Override
        public boolean destroy(String name) {
            if (mutant.clearsUp()) {
                marks(name).clear();
            }
            return right.destroy(name);
        }

        @Override
        public int retiredHolders(String name) {
            return right.retiredHolders(name);
        }
    }
}
