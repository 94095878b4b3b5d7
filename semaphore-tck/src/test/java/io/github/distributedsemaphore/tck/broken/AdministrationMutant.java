package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.ResizeRules;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** The administration is wrong. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum AdministrationMutant implements Mutant {
    /** The last one to create sets the limit: redisson #4678. */
    CREATE_OVERWRITES_THE_LIMIT(
            AdministrationRules.class, "8.2", "where it is 2", Variants.served(() -> new ProbedServer() {
                @Override
                protected boolean create(String name, int limit) {
                    boolean there = super.destroy(name);
                    super.create(name, limit);
                    return !there;
                }
            })),

    /** Creating again starts anew, whoever holds: redisson #4719. */
    CREATE_STARTS_ANEW(
            AdministrationRules.class,
            "8.1",
            "made room while all permits were held",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected boolean create(String name, int limit) {
                    boolean created = super.create(name, limit);
                    wipe(name);
                    super.create(name, limit);
                    return created;
                }
            })),

    /** Two who create at the same time both did it: dv/redis-semaphore #64. */
    CREATE_IS_NOT_ATOMIC(
            AdministrationRules.class, "8.3", "that said they created it", Variants.served(() -> new ProbedServer() {
                private final Map<String, Long> creations = new ConcurrentHashMap<>();

                @Override
                protected boolean create(String name, int limit) {
                    long first = creations.computeIfAbsent(name, key -> now());
                    return super.create(name, limit) || now() - first < 20_000_000;
                }
            })),

    /** What is used is created: redisson's acquire before trySetPermits. */
    USE_CREATES(
            AdministrationRules.class,
            "8.4",
            "of a semaphore that does not exist",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
                    if (describe(session.name()).isEmpty()) {
                        create(session.name(), 1);
                    }
                    return super.exchange(session, sequence, request);
                }
            })),

    /** A destroyed semaphore is still there for a description: redisson #2444. */
    DESTROY_LEAVES_IT_VISIBLE(
            AdministrationRules.class,
            "8.12",
            "a destroyed semaphore is still described",
            Variants.served(() -> new ProbedServer() {
                private final Map<String, SemaphoreDescription> seen = new ConcurrentHashMap<>();

                @Override
                protected boolean destroy(String name) {
                    super.describe(name).ifPresent(known -> seen.put(name, known));
                    return super.destroy(name);
                }

                @Override
                protected Optional<SemaphoreDescription> describe(String name) {
                    return super.describe(name).or(() -> Optional.ofNullable(seen.get(name)));
                }
            })),

    /** The counter of epochs goes with the semaphore: Consul's indexes of a deleted key. */
    DESTROY_FORGETS_EPOCHS(
            FencingRules.class,
            "7.2",
            "epoch after the semaphore was destroyed",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected boolean destroy(String name) {
                    boolean destroyed = super.destroy(name);
                    locked(() -> semaphores.remove(name));
                    return destroyed;
                }
            })),

    /** The new limit is added to the old one: redisson's addPermits. */
    GROWING_ADDS_TOO_MUCH(
            ResizeRules.class,
            "8.5",
            "made room for more than 3",
            resizing((server, name, old, limit) -> limit > old ? old + limit : limit)),

    /** A shrink is shown and not enforced: hashicorp/consul #933. */
    SHRINKING_IS_NOT_ENFORCED(
            ResizeRules.class, "8.6", "beyond the new limit", Variants.served(() -> new ProbedServer() {
                private final Map<String, Integer> shown = new ConcurrentHashMap<>();

                @Override
                protected void resize(String name, int limit) {
                    shown.put(name, limit);
                }

                @Override
                protected Optional<SemaphoreDescription> describe(String name) {
                    return super.describe(name)
                            .map(right -> new SemaphoreDescription(
                                    name, shown.getOrDefault(name, right.limit()), right.free(), right.holders()));
                }
            })),

    /** A shrink throws out the holders of the removed slots: locksmith's set-max. */
    SHRINKING_EVICTS_HOLDERS(ResizeRules.class, "8.7", "after shrinking to 1", resizing((server, name, old, limit) -> {
        for (int slot = limit + 1; slot <= old; slot++) {
            server.removeHolder(name, slot);
        }
        return limit;
    })),

    /** A holder of a removed slot counts against the new limit. */
    REMOVED_SLOTS_COUNT(
            ResizeRules.class, "8.7", "while only slot 3 is held", Variants.served(() -> new ProbedServer() {
                @Override
                protected Optional<SemaphoreDescription> describe(String name) {
                    return super.describe(name)
                            .map(right -> new SemaphoreDescription(
                                    name,
                                    right.limit(),
                                    Math.max(0, right.limit() - right.holders().size()),
                                    right.holders()));
                }
            })),

    /** Concurrent administrators leave a limit that none of them asked for: madelson/DistributedLock #78. */
    RESIZES_MIX(
            ResizeRules.class,
            "8.8",
            "contain the one that is stored",
            resizing((server, name, old, limit) -> Math.max(limit, old) + 1)),

    /** A foreign value is overwritten: hashicorp/consul #9951. */
    FOREIGN_STATE_IS_OVERWRITTEN(
            AdministrationRules.class, "8.16", "taken by something foreign", Variants.served(Trusting::new)),

    /** Damaged state is read as free: nickelser/suo, empty_lock_on_invalid_data. */
    DAMAGED_STATE_IS_FREE(InputRules.class, "12.4", "whose state is damaged", Variants.served(Trusting::new));

    private final Recipe recipe;

    AdministrationMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    /** What becomes of a resize. */
    private interface Resize {
        int limit(ProbedServer server, String name, int old, int wanted);
    }

    private static Supplier<SemaphoreTckHarness> resizing(Resize resize) {
        return Variants.served(() -> new ProbedServer() {
            @Override
            protected void resize(String name, int limit) {
                int old = describe(name).orElseThrow().limit();
                super.resize(name, resize.limit(this, name, old, limit));
            }
        });
    }

    /** Never looks whether what is stored is a semaphore. */
    private static final class Trusting extends ProbedServer {
        @Override
        protected void requireIntact(String name) {}
    }
}
