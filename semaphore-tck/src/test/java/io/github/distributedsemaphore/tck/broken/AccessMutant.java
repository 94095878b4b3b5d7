package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.tck.MemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AccessRules;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Rights and secrets are handled wrongly. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum AccessMutant implements Mutant {
    /** The message repeats what was sent, URI and all. */
    REFUSALS_TELL_THE_PASSWORD("15.1", "texts in which a secret is shown", () -> new MemoryHarness(MemoryServer.ALL) {
        @Override
        protected String refusal() {
            return "The server refuses user:" + secret() + "@localhost";
        }
    }),

    /** Wrong credentials look like a server that is away, which everybody tries again and again. */
    REFUSALS_LOOK_LIKE_OUTAGES("15.2", "what wrong credentials lead to", Outage::new),

    /** The list of rights was not brought up to date. */
    A_RIGHT_IS_NOT_DOCUMENTED(
            "15.4", "what hinders to resize with the least rights", () -> new MemoryHarness(MemoryServer.ALL) {
                @Override
                protected Set<String> rightsToWork() {
                    return super.rightsToWork().stream()
                            .filter(right -> !right.equals("resize"))
                            .collect(Collectors.toSet());
                }
            }),

    /** Telling the first of several that wait throws, and the others are told nothing. */
    ONE_REFUSAL_FOR_ALL_THAT_WAIT("15.2", "the end of one of", FirstOnly::new),

    /** Rights are checked for a grant, not for a destruction. */
    WHO_MAY_LOOK_MAY_DESTROY("15.2", "by an account that may only look", () -> new MemoryHarness(MemoryServer.ALL) {
        @Override
        protected Set<String> rightsToLook() {
            return Stream.concat(super.rightsToLook().stream(), Stream.of("destroy"))
                    .collect(Collectors.toSet());
        }
    });

    private final Recipe recipe;

    AccessMutant(String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(AccessRules.class, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    /** Reports each refusal as an outage. */
    private static final class Outage extends MemoryHarness {
        Outage() {
            super(new ProbedServer());
        }

        @Override
        protected SemaphoreClient client(SemaphoreClient client) {
            return Bent.around(SemaphoreClient.class, client, call -> {
                try {
                    return call.proceed();
                } catch (BackendAccessException e) {
                    throw new BackendUnavailableException(e.getMessage(), e);
                }
            });
        }
    }

    /** Passes on the first refusal of a future, and swallows the others. */
    private static final class FirstOnly extends MemoryHarness {
        private final AtomicBoolean told = new AtomicBoolean();

        FirstOnly() {
            super(MemoryServer.ALL);
        }

        @Override
        protected SemaphoreClient client(SemaphoreClient client) {
            return Bent.around(SemaphoreClient.class, client, call -> {
                Object result = call.proceed();
                return result instanceof CompletableFuture<?> future ? unlessTold(future) : result;
            });
        }

        @SuppressWarnings("FutureReturnValueIgnored") // the copy goes on
        private <T> CompletableFuture<T> unlessTold(CompletableFuture<T> future) {
            CompletableFuture<T> copy = new CompletableFuture<>();
            future.whenComplete((result, failure) -> {
                if (failure == null) {
                    copy.complete(result);
                } else if (!(failure instanceof BackendAccessException) || !told.getAndSet(true)) {
                    copy.completeExceptionally(failure);
                }
            });
            return copy;
        }
    }
}
