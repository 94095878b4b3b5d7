package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.RenewalRules;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What becomes of a slot that is held, or was, is wrong. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum HoldMutant implements Mutant {
    /** Nobody may hold for longer than a while, whoever renews: RabbitMQ's consumer_timeout. */
    HOLDS_HAVE_A_LONGEST_AGE(
            RenewalRules.class,
            "2.11",
            "a permit that is renewed stays valid and with its holder",
            Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected HoldState state(ServerSession session, Hold hold) {
                    Instant oldest = Instant.now().minus(Duration.ofSeconds(2));
                    taken.values().removeIf(held -> held.since().isBefore(oldest));
                    return super.state(session, hold);
                }
            })),

    /** What is released twice makes room twice: the permits of java.util.concurrent.Semaphore. */
    RELEASES_ARE_ONLY_COUNTED(
            ReleaseRules.class,
            "4.8",
            "valid permits after",
            Variants.port(Duration.ofSeconds(1), BentPermits::blindRelease)),

    /** A renewal that comes after the release writes over whoever has the slot by then. */
    RENEWAL_REVIVES_A_RELEASED_HOLD(
            RenewalRules.class, "6.2", "the next holder keeps the slot", Variants.stored(Reviving::new)),

    /** The same where the session is renewed with all that it ever held, and no look at a permit does it. */
    ONLY_A_RENEWAL_REVIVES_A_RELEASED_HOLD(
            RenewalRules.class, "6.2", "the next holder keeps the slot", Variants.served(() -> new ProbedServer() {
                @Override
                protected MemorySemaphore newSemaphore() {
                    return new Remembering();
                }

                @Override
                protected Renewal renew(ServerSession session, Collection<Hold> holds) {
                    return locked(() -> {
                        ((Remembering) semaphore(session.name())).revive(session);
                        return super.renew(session, holds);
                    });
                }
            })),

    /** A release in order looks like a loss to the renewal that it overtakes. */
    RENEWAL_TAKES_RELEASES_FOR_LOSSES(
            RenewalRules.class,
            "6.2",
            "a release in order is reported as a loss to nobody",
            Variants.port(Duration.ofSeconds(1), BentPermits::tellingReleases)),

    /** The fence is read when somebody asks for it, and by then it is the next one's. */
    FENCES_ARE_READ_LATE(
            FencingRules.class,
            "7.3",
            "the fences after a release",
            Variants.port(Duration.ofSeconds(1), BentPermits::readingFencesLate)),

    /** All permits of a group have the fence of the first. */
    GROUPS_HAVE_ONE_FENCE(
            FencingRules.class,
            "7.3",
            "slots of the fences",
            Variants.port(Duration.ofSeconds(1), BentPermits::oneFenceForAll)),

    /** The counter of epochs is forgotten with each grant, so that a store cannot tell the late from the new. */
    LATE_WRITES_LOOK_NEW(
            FencingRules.class, "7.4", "the former holder writes late", Variants.stored(() -> new MemorySemaphore() {
                @Override
                protected Hold take(ServerSession session, int slot, int epochs) {
                    nextEpochs.clear();
                    return super.take(session, slot, epochs);
                }
            })),

    /** Who destroys clears away the slots that are held, and they are granted again. */
    DESTROY_CLEARS_SLOTS(
            AdministrationRules.class,
            "8.15",
            "the slot that was still held was granted again",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected boolean destroy(String name) {
                    boolean destroyed = super.destroy(name);
                    wipe(name);
                    return destroyed;
                }
            })),

    /** A release after the new semaphore was made frees whoever has the slot there. */
    OLD_PERMITS_FREE_NEW_HOLDERS(
            AdministrationRules.class,
            "8.15",
            "after a second release of the old one",
            Variants.port(Duration.ofSeconds(1), BentPermits::blindRelease)),

    /** What a newer version stored is read as if it were one's own. */
    NEWER_FORMATS_ARE_READ(
            InputRules.class,
            "12.7",
            "the use of a semaphore whose state is damaged: a record of format 99",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected void requireIntact(String name) {
                    try {
                        super.requireIntact(name);
                    } catch (IncompatibleStateException e) {
                        if (!String.valueOf(e.getMessage()).contains("format 99")) {
                            throw e;
                        }
                    }
                }
            })),

    /** Asked what became of a request, the server does it again. */
    ASKING_DOES_IT_AGAIN(
            LostAnswerRules.class,
            "13.4",
            "one acquire whose answer was lost takes one permit",
            LinkVariants.served(() -> new LinkVariants.Gullible() {
                @Override
                protected ExchangeResult resolve(ServerSession session, long sequence, ExchangeRequest request) {
                    return exchange(session, sequence, request);
                }
            }));

    private final Recipe recipe;

    HoldMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    private static final class Reviving extends MemorySemaphore {
        private @Nullable Taken released;

        @Override
        protected boolean giveBack(ServerSession session, Hold hold) {
            released = taken.get(hold.slot());
            return super.giveBack(session, hold);
        }

        @Override
        protected HoldState state(ServerSession session, Hold hold) {
            Taken late = released;
            if (late != null) {
                taken.computeIfPresent(late.hold().slot(), (slot, now) -> now.session() == late.session() ? now : late);
            }
            return super.state(session, hold);
        }
    }

    private static final class Remembering extends MemorySemaphore {
        private final Map<ServerSession, Taken> released = new HashMap<>();

        @Override
        protected boolean giveBack(ServerSession session, Hold hold) {
            Taken held = taken.get(hold.slot());
            if (held != null) {
                released.put(session, held);
            }
            return super.giveBack(session, hold);
        }

        void revive(ServerSession session) {
            Taken late = released.get(session);
            if (late != null) {
                taken.put(late.hold().slot(), late);
            }
        }
    }
}
