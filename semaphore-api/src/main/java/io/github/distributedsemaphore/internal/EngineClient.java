package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.Durations;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client: one backend, and one coordinator per name. */
final class EngineClient implements SemaphoreClient {
    private static final Logger LOG = LoggerFactory.getLogger(EngineClient.class);

    private final Semaphores semaphores;
    private final SemaphoreBackend backend;
    private final ClientSettings settings;
    private final Environment environment;
    private final Ledger.Listeners listeners = new Ledger.Listeners();
    private final Outage.Retries retries;
    private final EngineAdmin admin;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Queue<Thread> awaitingEnd = new ConcurrentLinkedQueue<>();
    private volatile boolean ended;
    private volatile boolean acquiringStopped;

    EngineClient(SemaphoreBackend backend, ClientSettings settings, Environment environment) {
        this.backend = backend;
        this.settings = settings;
        this.environment = environment;
        this.retries = new Outage.Retries(environment);
        this.semaphores = new Semaphores(environment, this::make);
        this.admin = new EngineAdmin(this, backend, environment, retries, settings);
    }

    @Override
    public DistributedSemaphore semaphore(String name) {
        requireOpen();
        EngineSemaphore known = semaphores.find(name);
        if (known == null) {
            check(name);
            known = semaphores.findOrMake(name, this::abortIfClosed);
        }
        requireOpen();
        if (acquiringStopped) {
            // Made since then, perhaps.
            known.coordinator().stopAcquiring();
        }
        return known;
    }

    /** Closed while it was put there: the closing thread may not have seen it. One that was there before is that thread's to close. */
    private void abortIfClosed(EngineSemaphore made) {
        if (closed.get()) {
            made.coordinator().abort();
        }
    }

    /** Which names a semaphore may have. */
    void check(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("The name of a semaphore must not be blank");
        }
        int bytes = utf8(name).remaining();
        int most = backend.guarantees().maxNameBytes();
        if (bytes > most) {
            throw new IllegalArgumentException("The name of a semaphore has " + bytes + " bytes in UTF-8, "
                    + backend.guarantees().backend() + " allows at most " + most);
        }
    }

    private static ByteBuffer utf8(String name) {
        try {
            return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(name));
        } catch (CharacterCodingException e) {
            // Half a surrogate pair would be written as a question mark: two names would become one.
            throw new IllegalArgumentException("The name of a semaphore contains half of a surrogate pair", e);
        }
    }

    private EngineSemaphore make(String name) {
        return new EngineSemaphore(
                new Coordinator(name, backend, settings, environment, retries, listeners, new Combiner.Lock()),
                backend);
    }

    @Override
    public SemaphoreAdmin admin() {
        return admin;
    }

    @Override
    public Guarantees guarantees() {
        return GuaranteesBuilder.from(backend.guarantees())
                .handOffBound(
                        settings.handOffs() == 0
                                ? Duration.ZERO
                                : settings.handOffTime().multipliedBy(2))
                .build();
    }

    @Override
    public void ping(Duration maxWait) throws InterruptedException {
        if (maxWait.isZero() || maxWait.isNegative()) {
            throw new IllegalArgumentException("A ping has to wait for its answer: " + maxWait + " is no time for it");
        }
        requireOpen();
        Deadline deadline = Deadline.after(environment.nanoTime(), maxWait);
        CompletableFuture<Boolean> answer = Questions.askToAwait(environment, () -> {
            backend.ping();
            return true;
        });
        boolean answered = Questions.await(environment, answer, deadline);
        try {
            if (!answered) {
                throw new BackendUnavailableException(
                        "The backend '" + backend.guarantees().backend() + "' did not answer within "
                                + Durations.format(maxWait),
                        null);
            }
            Questions.result(answer);
        } catch (BackendUnavailableException e) {
            // A connection that its own client closed is no failure of the backend.
            requireOpen();
            throw e;
        }
    }

    @Override
    public void addListener(SemaphoreListener listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public void removeListener(SemaphoreListener listener) {
        listeners.remove(listener);
    }

    @Override
    public void stopAcquiring() {
        acquiringStopped = true;
        semaphores.all().forEach(semaphore -> semaphore.coordinator().stopAcquiring());
    }

    void requireOpen() {
        if (closed.get()) {
            throw Failures.clientClosed();
        }
    }

    void resized(String name, int limit) {
        EngineSemaphore semaphore = semaphores.find(name);
        if (semaphore != null) {
            semaphore.coordinator().resized(limit);
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            end(Coordinator::close, SemaphoreBackend::close);
        } else {
            awaitingEnd.add(Thread.currentThread());
            environment.awaitUninterruptibly(this, () -> ended);
        }
    }

    @Override
    public void abort() {
        if (closed.compareAndSet(false, true)) {
            end(Coordinator::abort, SemaphoreBackend::abort);
        }
    }

    private void end(Consumer<Coordinator> how, Consumer<SemaphoreBackend> last) {
        endAll(semaphores.all().stream().map(EngineSemaphore::coordinator).toList(), how);
        quietly("backend", () -> last.accept(backend));
        quietly("client", environment::close);
        ended = true;
        awaitingEnd.forEach(environment::unpark);
    }

    /** All at the same time, for each may have to wait for a backend that does not answer. */
    private void endAll(List<Coordinator> coordinators, Consumer<Coordinator> how) {
        AtomicInteger left = new AtomicInteger(coordinators.size());
        Thread caller = Thread.currentThread();
        for (int i = 1; i < coordinators.size(); i++) {
            Coordinator coordinator = coordinators.get(i);
            environment.execute(() -> {
                quietly(coordinator.name(), () -> how.accept(coordinator));
                left.decrementAndGet();
                environment.unpark(caller);
            });
        }
        if (!coordinators.isEmpty()) {
            Coordinator first = coordinators.get(0);
            quietly(first.name(), () -> how.accept(first));
            left.decrementAndGet();
        }
        environment.awaitUninterruptibly(this, () -> left.get() == 0);
    }

    /** What an adapter throws must not keep the rest from being closed. */
    private static void quietly(String what, Runnable end) {
        try {
            end.run();
        } catch (RuntimeException | Error e) {
            LOG.warn("The end of '{}' failed; the rest of the client is closed", what, e);
        }
    }

    /**
     * The semaphores of one client: the same object for the same name. A session that is not used for a while is closed, and from then
     * on only the application keeps its semaphore. So an application that uses a hundred thousand names in a day, each for a moment,
     * leaves nothing behind. Thread-safe.
     */
    private static final class Semaphores {
        /** How often it is looked for unused sessions. One that is unused for two looks in a row is closed. */
        private static final long LOOK_NANOS = 30_000_000_000L;

        private final Environment environment;
        private final Function<String, EngineSemaphore> maker;
        private final Map<String, Entry> entries = new ConcurrentHashMap<>();
        private final ReferenceQueue<EngineSemaphore> forgotten = new ReferenceQueue<>();
        private final AtomicBoolean looking = new AtomicBoolean();

        /** What is known of one name. */
        private final class Entry extends WeakReference<EngineSemaphore> {
            private final String name;

            /** Keeps the semaphore while its session is in use. */
            private volatile @Nullable EngineSemaphore used;

            Entry(String name, EngineSemaphore semaphore) {
                super(semaphore, forgotten);
                this.name = name;
            }
        }

        Semaphores(Environment environment, Function<String, EngineSemaphore> maker) {
            this.environment = environment;
            this.maker = maker;
        }

        @Nullable
        EngineSemaphore find(String name) {
            Entry entry = entries.get(name);
            return entry == null ? null : entry.get();
        }

        EngineSemaphore findOrMake(String name, Consumer<EngineSemaphore> whenMade) {
            removeForgotten();
            EngineSemaphore[] found = new EngineSemaphore[1];
            boolean[] made = new boolean[1];
            Entry unused = entries.compute(name, (key, known) -> {
                EngineSemaphore semaphore = known == null ? null : known.get();
                made[0] = semaphore == null;
                if (semaphore != null) {
                    found[0] = semaphore;
                    return known;
                }
                found[0] = maker.apply(key);
                return made(key, found[0]);
            });
            if (made[0]) {
                whenMade.accept(found[0]);
            }
            return found[0];
        }

        private Entry made(String name, EngineSemaphore semaphore) {
            Entry entry = new Entry(name, semaphore);
            semaphore.coordinator().onUse(used -> {
                entry.used = used ? semaphore : null;
                if (used) {
                    lookLater();
                }
            });
            return entry;
        }

        List<EngineSemaphore> all() {
            return entries.values().stream()
                    .map(Entry::get)
                    .filter(Objects::nonNull)
                    .toList();
        }

        private void removeForgotten() {
            for (Object gone = forgotten.poll(); gone != null; gone = forgotten.poll()) {
                if (gone instanceof Entry entry) {
                    entries.remove(entry.name, entry);
                }
            }
        }

        /** One look is planned at a time. */
        private void lookLater() {
            if (!looking.compareAndSet(false, true)) {
                return;
            }
            try {
                Environment.Timer unused = environment.schedule(this::look, LOOK_NANOS);
            } catch (RuntimeException | Error e) {
                // There was no memory for the timer, perhaps: the next use plans it.
                looking.set(false);
                throw e;
            }
        }

        private void look() {
            try {
                removeForgotten();
                for (Entry entry : entries.values()) {
                    EngineSemaphore semaphore = entry.used;
                    if (semaphore != null) {
                        semaphore.coordinator().restIfUnused();
                    }
                }
            } finally {
                // Or else an error, for want of memory, would have been the last look.
                looking.set(false);
                if (entries.values().stream().anyMatch(entry -> entry.used != null)) {
                    lookLater();
                }
            }
        }
    }
}
