package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.tck.MemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.HygieneRules;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Something stays behind. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum HygieneMutant implements Mutant {
    /** What keeps the client alive outlives it. */
    CLOSE_LEAVES_A_THREAD("16.1", "the threads of a closed client end", Variants.port(Duration.ofSeconds(1), server -> {
        AtomicInteger closed = new AtomicInteger();
        return call -> {
            Object result = call.proceed();
            if (call.is(SemaphoreClient.class, "close")) {
                // A name of its own, as each client's threads have.
                String name = "semaphore-keep-alive-of-" + System.identityHashCode(server) + "-";
                Ghosts.later(name + closed.incrementAndGet(), () -> Ghosts.linger(Variants.LONG));
            }
            return result;
        };
    })),

    /** A closed client has nothing free, as far as anybody can tell. */
    CLOSED_IS_FULL("16.1", "tryAcquire() of a closed client", Variants.port(Duration.ofSeconds(1), server -> call -> {
        try {
            return call.proceed();
        } catch (SemaphoreClosedException e) {
            if (call.is(DistributedSemaphore.class, "tryAcquire")) {
                return Optional.empty();
            }
            throw e;
        }
    })),

    /** A destruction forgets the key beside the semaphore: redisson #4100. */
    DESTROY_LEAVES_A_COMPANION(
            "16.2",
            "what a semaphore left at the backend is gone after destruction",
            () -> new Littered() {
                @Override
                ProbedServer server(Set<String> litter) {
                    return new ProbedServer() {
                        @Override
                        protected boolean create(String name, int limit) {
                            litter.add(name + ":channel");
                            return super.create(name, limit);
                        }
                    };
                }
            }.harness()),

    /** Who is refused stays in the queue. */
    REFUSALS_STAY_STORED(
            "16.3",
            "things at the backend after as many rounds again",
            () -> new Littered() {
                @Override
                ProbedServer server(Set<String> litter) {
                    AtomicInteger refusals = new AtomicInteger();
                    return new ProbedServer() {
                        @Override
                        protected ExchangeResult exchange(
                                ServerSession session, long sequence, ExchangeRequest request) {
                            ExchangeResult result = super.exchange(session, sequence, request);
                            if (result.answers().contains(Answer.FULL)) {
                                litter.add(session.name() + ":waiter:" + refusals.incrementAndGet());
                            }
                            return result;
                        }
                    };
                }
            }.harness()),

    /** What was granted is noted for good. */
    PERMITS_ARE_NEVER_FORGOTTEN("16.3", "released permits are collected", remembering());

    private final Recipe recipe;

    HygieneMutant(String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(HygieneRules.class, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    private static Supplier<SemaphoreTckHarness> remembering() {
        return Variants.port(Duration.ofSeconds(1), server -> {
            Queue<Object> granted = new ConcurrentLinkedQueue<>();
            return call -> {
                Object result = call.proceed();
                if (call.is(DistributedSemaphore.class, "tryAcquire") && result instanceof Optional<?> permit) {
                    permit.ifPresent(granted::add);
                }
                return result;
            };
        });
    }

    /** A backend where things are left. */
    private abstract static class Littered {
        private final Set<String> litter = ConcurrentHashMap.newKeySet();

        abstract ProbedServer server(Set<String> litter);

        final SemaphoreTckHarness harness() {
            return new MemoryHarness(server(litter)) {
                @Override
                public Leftovers leftovers() {
                    return Leftovers.of(litter);
                }
            };
        }
    }
}
