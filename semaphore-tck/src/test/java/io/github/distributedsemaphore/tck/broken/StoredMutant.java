package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.ContentionRules;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.InspectionRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import java.time.Instant;
import java.util.List;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What is stored is wrong. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum StoredMutant implements Mutant {
    /** The comparison is off by one: d34ndev/sidekiq-limit_fetch #107. */
    ONE_BEYOND_THE_LIMIT(SafetyRules.class, "1.1", "beyond the limit of 3", Variants.stored(OneBeyond::new)),

    /** Between the look and the take another comes: sidekiq #5242. */
    SLOT_GRANTED_TWICE(SafetyRules.class, "1.2", "at one instant", Variants.stored(Twice::new)),

    /** The same, seen by what the holders do: ShedLock #132. */
    UPDATES_ARE_LOST(SafetyRules.class, "1.4", "each holder of the only permit raises", Variants.stored(Twice::new)),

    /** A slot is never given out: otovo/redis-rate-limiters PR #7, where capacity erodes. */
    ONE_BELOW_THE_LIMIT(
            ContentionRules.class, "2.8", "fewer are let in than allowed", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected List<Integer> freeSlots(int atMost) {
                    List<Integer> free = super.freeSlots(limit);
                    free.remove(Integer.valueOf(limit));
                    return free.subList(0, Math.min(atMost, free.size()));
                }
            })),

    /**
     * Now and then an attempt is told that nothing is free, whatever is. That no order explains it may show at the refusal itself,
     * or at a grant that the refusal leaves no room for.
     */
    FULL_NOW_AND_THEN(
            ContentionRules.class,
            "2.8",
            "was refused 1|no order of the calls explains that",
            Variants.stored(() -> new MemorySemaphore() {
                private int looks;

                @Override
                protected List<Integer> freeSlots(int atMost) {
                    return ++looks % 5 == 0 ? List.of() : super.freeSlots(atMost);
                }
            })),

    /** Now and then a release frees nothing: redisson #2045. */
    A_RELEASE_IS_FORGOTTEN(
            ContentionRules.class, "2.9", "lost permits: only 2 of 3", Variants.stored(Variants.LONG, () -> {
                return new MemorySemaphore() {
                    private int releases;

                    @Override
                    protected boolean giveBack(ServerSession session, Hold hold) {
                        return ++releases == 20 || super.giveBack(session, hold);
                    }
                };
            })),

    /** A release frees what its client has there, whichever of its callers that is. */
    LATE_RELEASE_FREES_A_CALLER_OF_THE_SAME_CLIENT(
            ReleaseRules.class,
            "4.4",
            "the permit of the successor in the same client",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected boolean giveBack(ServerSession session, Hold hold) {
                    Taken held = taken.get(hold.slot());
                    return held != null && held.session() == session && taken.remove(hold.slot()) != null;
                }
            })),

    /** A permit is taken for the one that another caller of its client has by now. */
    VERIFY_OVERLOOKS_THE_EPOCH(
            ReleaseRules.class,
            "5.3",
            "whose slot another caller of the same client has",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected HoldState state(ServerSession session, Hold hold) {
                    Taken held = taken.get(hold.slot());
                    return held != null && held.session() == session ? HoldState.HELD : super.state(session, hold);
                }
            })),

    /** A release frees the slot, whoever has it: dv/redis-semaphore #10. */
    LATE_RELEASE_FREES_THE_SUCCESSOR(
            ReleaseRules.class,
            "4.4",
            "the successor's permit after the release of the lost one",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected boolean giveBack(ServerSession session, Hold hold) {
                    return taken.remove(hold.slot()) != null;
                }
            })),

    /** The counter of epochs is forgotten with each release: etcd #10811, where nothing tells old from new. */
    EPOCHS_STAND_STILL(FencingRules.class, "7.1", "epoch of round", Variants.stored(() -> new MemorySemaphore() {
        @Override
        protected Hold take(ServerSession session, int slot, int epochs) {
            nextEpochs.clear();
            return super.take(session, slot, epochs);
        }
    })),

    /** The counter of epochs goes with the session of its last holder: what is late is as new as what follows. */
    EPOCHS_DIE_WITH_THEIR_HOLDER(FencingRules.class, "7.4", "the former holder writes late", Variants.stored(() -> {
        return new MemorySemaphore() {
            @Override
            protected boolean giveBackAll(ServerSession session) {
                nextEpochs.clear();
                return super.giveBackAll(session);
            }
        };
    })),

    /** The counter of epochs has 31 bits, and begins anew after them. */
    EPOCHS_ARE_INTS(FencingRules.class, "7.5", "near 2147483648", Variants.stored(() -> {
        return new NarrowEpochs(next -> next & Integer.MAX_VALUE);
    })),

    /** The counter of epochs is a double, as every number of a script in Redis is: from 2^53 on it stands still. */
    EPOCHS_ARE_DOUBLES(FencingRules.class, "7.5", "near 9007199254740992", Variants.stored(() -> {
        return new NarrowEpochs(next -> (long) (double) next);
    })),

    /** Whatever slot is stored is granted, and the limit only counts where slots are made. */
    STORED_SLOTS_ARE_GRANTED(InputRules.class, "12.5", "a permit beyond the limit", Variants.stored(() -> {
        return new MemorySemaphore() {
            @Override
            protected List<Integer> freeSlots(int atMost) {
                return Stream.concat(IntStream.rangeClosed(1, limit).boxed(), nextEpochs.keySet().stream())
                        .distinct()
                        .filter(slot -> !taken.containsKey(slot))
                        .limit(atMost)
                        .toList();
            }
        };
    })),

    /** What is shown as free is what is stored and not held. */
    STORED_SLOTS_ARE_SHOWN_AS_FREE(
            InputRules.class, "12.5", "free with slots planted", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected SemaphoreDescription describe(String name) {
                    SemaphoreDescription right = super.describe(name);
                    int stored = Math.max(limit, nextEpochs.size());
                    return new SemaphoreDescription(name, limit, right.free() + stored - limit, right.holders());
                }
            })),

    /** A renewal takes again what was lost, in silence: swarthy/redis-semaphore #175. */
    RENEWAL_TAKES_AGAIN(
            LossRules.class, "6.3", "not taken again silently", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected HoldState state(ServerSession session, Hold hold) {
                    taken.putIfAbsent(hold.slot(), new Taken(session, hold, Instant.now()));
                    return super.state(session, hold);
                }
            })),

    /** The grant is reported although the lease behind it has ended: etcd #11456. */
    GRANTED_TO_THE_DEAD(
            SafetyRules.class, "1.9", "a permit that was just granted", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected Hold take(ServerSession session, int slot, int epochs) {
                    Hold hold = super.take(session, slot, epochs);
                    taken.remove(slot);
                    return hold;
                }
            })),

    /** What is free is computed with holders that do not count: redisson #659. */
    FREE_BELOW_ZERO(
            InspectionRules.class,
            "9.1",
            "free with more holders than the limit",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected SemaphoreDescription describe(String name) {
                    SemaphoreDescription right = super.describe(name);
                    return new SemaphoreDescription(name, limit, limit - taken.size(), right.holders());
                }
            })),

    /** Those who released are listed still: hazelcast #16810. */
    FORMER_HOLDERS_ARE_SHOWN(
            InspectionRules.class, "9.1", "holders are shown after all released", Variants.stored(Nostalgic::new)),

    /** Nobody can see whose permit it is: ShedLock #184. */
    LABELS_ARE_DROPPED(
            InspectionRules.class, "9.1", "the label of a holder", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected SemaphoreDescription describe(String name) {
                    SemaphoreDescription right = super.describe(name);
                    List<Holder> holders = right.holders().stream()
                            .map(StoredMutant::anonymous)
                            .toList();
                    return new SemaphoreDescription(name, limit, right.free(), holders);
                }
            })),

    /** A destruction takes the slots from their holders: redisson #4097. */
    DESTROY_FORGETS_HOLDERS(
            AdministrationRules.class,
            "8.13",
            "a permit whose semaphore was destroyed",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected boolean isHeld(ServerSession session, Hold hold) {
                    return limit > 0 && super.isHeld(session, hold);
                }
            }));

    private final Recipe recipe;

    StoredMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    private static Holder anonymous(Holder holder) {
        return new Holder(
                holder.slot(), holder.epoch(), holder.host(), holder.pid(), "", holder.since(), holder.state());
    }

    private static final class OneBeyond extends MemorySemaphore {
        @Override
        protected List<Integer> freeSlots(int atMost) {
            limit++;
            try {
                return super.freeSlots(atMost);
            } finally {
                limit--;
            }
        }
    }

    private static final class Twice extends MemorySemaphore {
        private int looks;

        @Override
        protected List<Integer> freeSlots(int atMost) {
            return ++looks % 10 == 0 && atMost == 1 ? List.of(1) : super.freeSlots(atMost);
        }
    }

    /** Keeps the next epoch in some other kind of number. */
    private static final class NarrowEpochs extends MemorySemaphore {
        private final LongUnaryOperator kept;

        NarrowEpochs(LongUnaryOperator kept) {
            this.kept = kept;
        }

        @Override
        protected Hold take(ServerSession session, int slot, int epochs) {
            nextEpochs.computeIfPresent(slot, (key, next) -> kept.applyAsLong(next));
            return super.take(session, slot, epochs);
        }
    }

    private static final class Nostalgic extends MemorySemaphore {
        private List<Holder> former = List.of();

        @Override
        protected Hold take(ServerSession session, int slot, int epochs) {
            Hold hold = super.take(session, slot, epochs);
            former = super.describe("").holders();
            return hold;
        }

        @Override
        protected SemaphoreDescription describe(String name) {
            SemaphoreDescription right = super.describe(name);
            return new SemaphoreDescription(name, limit, right.free(), taken.isEmpty() ? former : right.holders());
        }
    }
}
