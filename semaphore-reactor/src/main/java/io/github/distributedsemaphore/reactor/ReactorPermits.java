package io.github.distributedsemaphore.reactor;

import io.github.distributedsemaphore.CheckReturnValue;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.InterruptOnLoss;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.scheduler.Schedulers;

/**
 * Runs a {@code Mono} or a {@code Flux} under a permit.
 *
 * <pre>{@code
 * Mono<Report> report = ReactorPermits.withPermit(exports, Duration.ofSeconds(30), permit -> client.export(permit.fence()));
 * }</pre>
 *
 * <p>Thread-safe. Nothing blocks. Each subscription acquires a permit of its own, so a retry releases its permit before it tries
 * again. The work is subscribed to on a thread of the client that nothing else depends on, or of {@link Schedulers#boundedElastic} if the
 * permit is there at once, and never on the subscribing thread. The permit is released when the work
 * completes, fails or is cancelled; completion and failure reach the subscriber after the release. A release that cannot be
 * confirmed is logged, and the client goes on trying. A cancellation while the subscriber still waits for the permit withdraws the
 * request, and a permit that arrives at the same moment goes back. A cancellation while the function that makes the work is being called
 * releases the permit when that returns. It does not wait for work that blocks after that, as in {@link Mono#fromCallable}.
 *
 * <p>All of them fail with what {@link DistributedSemaphore#acquireAsync(Duration)} fails with; the work has not begun then.
 */
public final class ReactorPermits {
    private static final Logger LOG = LoggerFactory.getLogger(ReactorPermits.class);

    private ReactorPermits() {}

    /**
     * Runs work with at most one result under a permit.
     *
     * @param semaphore where the permit comes from
     * @param maxWait the longest wait for the permit, as for {@link DistributedSemaphore#acquire(Duration)}
     * @param work makes what to subscribe to while the permit is held
     * @param <T> what the work produces
     * @return fails with {@link PermitLostException} as soon as the permit is lost, and cancels the work; also if only the release
     *     finds the loss
     */
    @CheckReturnValue
    public static <T> Mono<T> withPermit(
            DistributedSemaphore semaphore,
            Duration maxWait,
            Function<? super Permit, ? extends Publisher<? extends T>> work) {
        return ReactorPermits.<T>withPermitMany(semaphore, maxWait, work).singleOrEmpty();
    }

    /**
     * Runs work with any number of results under a permit.
     *
     * @param semaphore where the permit comes from
     * @param maxWait the longest wait for the permit, as for {@link DistributedSemaphore#acquire(Duration)}
     * @param work makes what to subscribe to while the permit is held
     * @param <T> what the work produces
     * @return fails with {@link PermitLostException} as soon as the permit is lost, and cancels the work; also if only the release
     *     finds the loss
     */
    @CheckReturnValue
    public static <T> Flux<T> withPermitMany(
            DistributedSemaphore semaphore,
            Duration maxWait,
            Function<? super Permit, ? extends Publisher<? extends T>> work) {
        return usingUntilLost(() -> semaphore.acquireAsync(maxWait), work);
    }

    /**
     * Runs work under what an asynchronous acquire gives. A loss does not end it; see {@link #usingUntilLost}.
     *
     * @param acquire starts an acquire, once for each subscription, such as {@code () -> semaphore.acquireAsync(2, maxWait)}
     * @param work makes what to subscribe to while the permits are held
     * @param <H> {@link Permit} or {@link PermitGroup}
     * @param <T> what the work produces
     * @return the results of the work; it completes or fails after the release
     */
    @CheckReturnValue
    public static <H extends Holding, T> Flux<T> using(
            Supplier<CompletableFuture<H>> acquire, Function<? super H, ? extends Publisher<? extends T>> work) {
        return using(acquire, work, loss -> {});
    }

    /**
     * Runs work under what an asynchronous acquire gives, as {@link #using(Supplier, Function)}, until a permit is lost.
     *
     * @param acquire starts an acquire, once for each subscription, such as {@code () -> semaphore.acquireAsync(2, maxWait)}
     * @param work makes what to subscribe to while the permits are held
     * @param <H> {@link Permit} or {@link PermitGroup}
     * @param <T> what the work produces
     * @return the results of the work. It fails with {@link PermitLostException} as soon as a permit is lost, and cancels the work; also
     *     if only the release finds the loss
     */
    @CheckReturnValue
    public static <H extends Holding, T> Flux<T> usingUntilLost(
            Supplier<CompletableFuture<H>> acquire, Function<? super H, ? extends Publisher<? extends T>> work) {
        return Flux.defer(() -> {
            AtomicReference<@Nullable PermitLoss> found = new AtomicReference<>();
            return using(
                            acquire,
                            (H holding) -> ReactorPermits.<T>failOnLoss(holding, work.apply(holding), found),
                            loss -> found.compareAndSet(null, loss))
                    .concatWith(lossIn(found))
                    .onErrorMap(failure -> withLoss(failure, found.get()));
        });
    }

    /** Work may also fail with the loss of a permit of another semaphore. */
    private static Throwable withLoss(Throwable failure, @Nullable PermitLoss found) {
        if (found == null
                || (failure instanceof PermitLostException known
                        && known.loss().semaphoreName().equals(found.semaphoreName()))) {
            return failure;
        }
        return new PermitLostException(found).initCause(failure);
    }

    /**
     * Runs work under what an asynchronous acquire gives, as {@link #using(Supplier, Function)}. A loss does not end it, nor does one that
     * only the release finds.
     *
     * @param acquire starts an acquire, once for each subscription, such as {@code () -> semaphore.acquireAsync(2, maxWait)}
     * @param work makes what to subscribe to while the permits are held
     * @param foundByRelease is told of the loss that the release found, also if listeners were told before; does not block
     * @param <H> {@link Permit} or {@link PermitGroup}
     * @param <T> what the work produces
     * @return the results of the work; it completes or fails after the release
     */
    @CheckReturnValue
    public static <H extends Holding, T> Flux<T> using(
            Supplier<CompletableFuture<H>> acquire,
            Function<? super H, ? extends Publisher<? extends T>> work,
            Consumer<? super PermitLoss> foundByRelease) {
        // The request is the resource, not the permit: it is there at once, so no permit can fall between two
        // operators.
        return Flux.usingWhen(
                // A cancellation while the supplier runs may discard what it returns, with a hook on operators always.
                Mono.fromSupplier(() -> new Use<H, T>(acquire.get(), work, foundByRelease))
                        .doOnDiscard(Use.class, use -> use.end().subscribe()),
                Use::run,
                Use::end);
    }

    /** What one subscription uses: a request for permits, and the work under them. Thread-safe. */
    private static final class Use<H extends Holding, T> {
        private final CompletableFuture<H> acquiring;
        private final Function<? super H, ? extends Publisher<? extends T>> work;

        /** Whether the function is being called: nothing can stop that. */
        private boolean calls;

        private boolean over;

        private final Consumer<? super PermitLoss> foundByRelease;

        Use(
                CompletableFuture<H> acquiring,
                Function<? super H, ? extends Publisher<? extends T>> work,
                Consumer<? super PermitLoss> foundByRelease) {
            this.acquiring = acquiring;
            this.work = work;
            this.foundByRelease = foundByRelease;
        }

        Flux<T> run() {
            Thread subscriber = Thread.currentThread();
            return Mono.fromFuture(acquiring, true)
                    .flatMapMany(holding -> apart(subscriber, Flux.defer(() -> call(holding))));
        }

        /** A permit that is there at once would have the work, which may block, run on an event loop. */
        private static <T> Flux<T> apart(Thread subscriber, Flux<T> work) {
            return Thread.currentThread() == subscriber ? work.subscribeOn(Schedulers.boundedElastic()) : work;
        }

        private Flux<T> call(H holding) {
            if (!begin()) {
                return Flux.empty();
            }
            Flux<T> made;
            try {
                made = Flux.from(work.apply(holding));
            } catch (Throwable e) {
                // Reactor throws some errors on, and then neither the subscriber nor this release would hear of them.
                made = Flux.error(e);
            }
            if (!isOverAfterCall()) {
                return made;
            }
            release(holding).subscribe();
            return Flux.empty();
        }

        private synchronized boolean begin() {
            calls = !over;
            return calls;
        }

        private synchronized boolean isOverAfterCall() {
            calls = false;
            return over;
        }

        /** Returns whether the caller of the function does the rest. */
        private synchronized boolean endsDuringCall() {
            over = true;
            return calls;
        }

        /** Withdraws the request, or releases what it got: one of the two, since a future ends once. */
        Mono<Void> end() {
            return Mono.defer(() -> endsDuringCall() || acquiring.cancel(false) || acquiring.isCompletedExceptionally()
                            ? Mono.empty()
                            : Mono.fromFuture(acquiring).flatMap(ReactorPermits::release))
                    .doOnNext(foundByRelease)
                    .then();
        }
    }

    /**
     * Ends work when a permit is lost.
     *
     * @param holding what the work runs under
     * @param work what to end
     * @param <T> what the work produces
     * @return the work; fails with {@link PermitLostException} when a permit is lost, and cancels the work then; also if the work has
     *     completed and the client knows of the loss already. What only the release finds it does not hear of: see {@link #usingUntilLost}
     */
    @CheckReturnValue
    public static <T> Flux<T> failOnLoss(Holding holding, Publisher<? extends T> work) {
        return Flux.defer(() -> failOnLoss(holding, work, new AtomicReference<>()));
    }

    private static <T> Flux<T> failOnLoss(
            Holding holding, Publisher<? extends T> work, AtomicReference<@Nullable PermitLoss> found) {
        // A companion that fails would end the stream and let the work go on; one that answers cancels the work.
        return Flux.<T>from(work)
                .takeUntilOther(lossOf(holding, found))
                .concatWith(lossIn(found))
                .concatWith(Mono.fromRunnable(() -> throwIfLost(holding)));
    }

    /** The permit may be lost before the listener is told. A guard asks what the client knows, and takes back its interrupt. */
    private static void throwIfLost(Holding holding) {
        if (!holding.isValid()) {
            try (InterruptOnLoss guard = InterruptOnLoss.guard(holding)) {
                guard.throwIfLost();
            }
        }
    }

    private static <T> Mono<T> lossIn(AtomicReference<@Nullable PermitLoss> found) {
        return Mono.defer(() -> {
            PermitLoss loss = found.get();
            return loss == null ? Mono.empty() : Mono.error(new PermitLostException(loss));
        });
    }

    /** Completes with the first loss, which it has put down before. */
    private static Mono<PermitLoss> lossOf(Holding holding, AtomicReference<@Nullable PermitLoss> found) {
        return Mono.create(sink -> {
            // The other permits of a group keep the listener. That of work that has ended must keep nothing of it.
            AtomicReference<@Nullable MonoSink<PermitLoss>> open = new AtomicReference<>(sink);
            Consumer<PermitLoss> listener = loss -> {
                found.compareAndSet(null, loss);
                MonoSink<PermitLoss> listening = open.get();
                if (listening != null) {
                    listening.success(loss);
                }
            };
            Listeners listeners = Listeners.of(holding);
            listeners.add(listener);
            // Afterwards: of work that is cancelled already it runs at once.
            sink.onDispose(() -> {
                open.set(null);
                listeners.remove(listener);
            });
        });
    }

    private static Mono<PermitLoss> release(Holding holding) {
        return found(holding).onErrorResume(failure -> {
            LOG.warn(
                    "The release of a permit of semaphore '{}' is not confirmed; the client goes on trying",
                    holding.semaphoreName(),
                    failure);
            return Mono.empty();
        });
    }

    private static Mono<PermitLoss> found(Holding holding) {
        if (holding instanceof PermitGroup group) {
            return Mono.fromFuture(group.releaseAsync(), true)
                    .flatMap(outcomes -> Mono.justOrEmpty(PermitLoss.foundBy(group, outcomes)));
        }
        Permit permit = (Permit) holding;
        return Mono.fromFuture(permit.releaseAsync(), true)
                .flatMap(outcome -> Mono.justOrEmpty(PermitLoss.foundBy(permit, outcome)));
    }

    /**
     * The listeners of the work that runs under one holding. A holding keeps what it is given until it ends, which is one listener here
     * and not one for each piece of work. Thread-safe.
     */
    private static final class Listeners {
        /** The holding keeps the value by its listener. Here it would keep the holding for as long as work does not end. */
        private static final Map<Holding, WeakReference<Listeners>> KNOWN =
                Collections.synchronizedMap(new WeakHashMap<>());

        private final Holding holding;
        private final Set<Consumer<PermitLoss>> waiting = new HashSet<>();
        private boolean lost;

        private Listeners(Holding holding) {
            this.holding = holding;
        }

        /** Two threads may make two: the holding knows both then. */
        static Listeners of(Holding holding) {
            WeakReference<Listeners> known = KNOWN.get(holding);
            Listeners listeners = known == null ? null : known.get();
            if (listeners == null) {
                listeners = new Listeners(holding);
                holding.onLost(listeners::lost);
                KNOWN.put(holding, new WeakReference<>(listeners));
            }
            return listeners;
        }

        void add(Consumer<PermitLoss> listener) {
            synchronized (this) {
                if (!lost) {
                    waiting.add(listener);
                    return;
                }
            }
            holding.onLost(listener);
        }

        synchronized void remove(Consumer<PermitLoss> listener) {
            waiting.remove(listener);
        }

        private void lost(PermitLoss unused) {
            List<Consumer<PermitLoss>> told;
            synchronized (this) {
                lost = true;
                told = List.copyOf(waiting);
                waiting.clear();
            }
            // The holding calls each at once, on a thread of its own: one that blocks holds up no other.
            told.forEach(holding::onLost);
        }
    }
}
