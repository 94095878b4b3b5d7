package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.faults.RenewalRules;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.ArrivalRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.InspectionRules;
import io.github.distributedsemaphore.tck.rules.LivenessRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.ResizeRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import java.text.Normalizer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The server is wrong. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum ServedMutant implements Mutant {
    /** Names are folded to lower case on their way: madelson/DistributedLock's names on Windows and SQL Server. */
    NAMES_IGNORE_CASE(
            SafetyRules.class, "1.11", "shares its permit with another", named(n -> n.toLowerCase(Locale.ROOT))),

    /** Names are trimmed on their way. */
    NAMES_ARE_TRIMMED(SafetyRules.class, "1.11", "shares its permit with another", named(String::strip)),

    /** Names go through a store that composes characters. */
    NAMES_ARE_NORMALISED(
            SafetyRules.class,
            "1.11",
            "shares its permit with another",
            named(name -> Normalizer.normalize(name, Normalizer.Form.NFC))),

    /** A prefix listing finds the neighbour too: Consul's recurse, by string and not by path. */
    NAMES_END_AT_A_SLASH(
            SafetyRules.class, "1.11", "shares its permit with another", named(name -> name.split("/", 2)[0])),

    /** Long names are cut to the width of a column: ShedLock's FailIfKeyNameTooLong. */
    NAMES_ARE_CUT(
            InputRules.class,
            "12.1",
            "that differ in the last share their permit",
            named(name -> name.substring(0, Math.min(name.length(), 100)))),

    /** Names end at the first control character. */
    NAMES_END_AT_A_CONTROL_CHARACTER(
            InputRules.class, "12.2", "collides with another", named(name -> name.split("\\p{Cntrl}", 2)[0])),

    /** Sessions are found by the name of the client, so that one ends its namesakes' too. */
    SESSIONS_ARE_FOUND_BY_LABEL(
            ReleaseRules.class, "4.3", "a client of the same label", Variants.served(() -> new ProbedServer() {
                private final Map<ServerSession, HolderInfo> holders = new ConcurrentHashMap<>();

                @Override
                protected ServerSession open(
                        MemoryBackend client, String name, HolderInfo holder, SessionListener listener) {
                    ServerSession session = super.open(client, name, holder, listener);
                    holders.put(session, holder);
                    return session;
                }

                @Override
                protected void close(ServerSession session) {
                    HolderInfo holder = holders.get(session);
                    holders.forEach((other, its) -> {
                        if (its.equals(holder) && other.name().equals(session.name())) {
                            super.close(other);
                        }
                    });
                }
            })),

    /** Only a crash says that a slot is free, and nothing takes it: redisson #2213, #4462. */
    LEASES_NEVER_END(
            ReleaseRules.class,
            "4.4",
            "not free within the declared detection bound",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected Deadline leaseFrom(long instant) {
                    return Deadline.after(instant, Variants.LONG);
                }
            })),

    /** A renewal finds no loss: redisson #3187, curator #727. */
    RENEWAL_FINDS_NO_LOSS(
            LossRules.class,
            "6.4",
            "is notified that its slot was taken from it",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected Renewal renew(ServerSession session, Collection<Hold> holds) {
                    Renewal right = super.renew(session, holds);
                    return new Renewal(right.validUntil(), Set.of(), right.retired());
                }
            })),

    /** A renewal that does not reach the lease: redisson #5698. */
    RENEWAL_RENEWS_NOTHING(
            RenewalRules.class,
            "6.1",
            "a permit that is renewed stays valid and with its holder",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected Renewal renew(ServerSession session, Collection<Hold> holds) {
                    return new Renewal(Deadline.NEVER, Set.of(), Set.of());
                }
            })),

    /** A destruction wakes nobody: hazelcast's waiters behind a destroyed proxy. */
    DESTROY_LEAVES_WAITERS(AdministrationRules.class, "8.14", "a destroy ends every", silent("destroy")),

    /** A release wakes nobody of another client: redisson #5762. */
    RELEASE_WAKES_NOBODY(LivenessRules.class, "2.1", "did not wake the waiter of another client", missing("exchange")),

    /** The same, found by racing the start of a wait: redisson #5762. */
    RELEASE_IS_MISSED(LivenessRules.class, "2.4", "was missed", missing("exchange")),

    /** Growing wakes nobody: redisson #3225. */
    GROWING_WAKES_NOBODY(ResizeRules.class, "8.5", "growing did not wake a waiter", silent("resize")),

    /** A removed slot goes on from hand to hand for longer than declared: redisson #604. */
    HAND_OFF_OUTLASTS_ITS_BOUND(ResizeRules.class, "8.7", "a removed slot is not handed on", Variants.LongHandOff::new),

    /** A look creates what it does not find: redisson #4678. */
    LOOKING_CREATES(
            InspectionRules.class,
            "9.3",
            "looking for a semaphore created it",
            Variants.served(() -> new ProbedServer() {
                @Override
                protected Optional<SemaphoreDescription> describe(String name) {
                    if (super.describe(name).isEmpty()) {
                        create(name, 1);
                    }
                    return super.describe(name);
                }
            })),

    /** The listing knows no order and not all: redisson #4100, where companion keys are left. */
    LISTING_MISSES_SOME(
            InspectionRules.class, "9.5", "the names of the semaphores", Variants.served(() -> new ProbedServer() {
                @Override
                protected List<String> names() {
                    return List.of();
                }
            })),

    /** A client that met damaged state works no more. */
    DAMAGE_ENDS_ALL_OF_A_CLIENT(InputRules.class, "12.4", "serves no other name", Variants.served(Shocking::new)),

    /** An order is declared, and who came last is served first. */
    NEWEST_CLIENT_FIRST(ArrivalRules.class, "11.4", "were served in the order", Variants.served(LastComeFirst::new)),

    /** When the state was removed waiters wait on: hashicorp/consul's deleted key. */
    WIPED_STATE_LEAVES_WAITERS(
            LossRules.class, "6.8", "where it must be NoSuchSemaphoreException", Variants.stored(Patient::new));

    private final Recipe recipe;

    ServedMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    private static Supplier<SemaphoreTckHarness> named(UnaryOperator<String> stored) {
        return Variants.served(() -> new ProbedServer() {
            @Override
            protected MemorySemaphore semaphore(String name) {
                return super.semaphore(stored.apply(name));
            }
        });
    }

    /** With the engine's timer, as a real backend has it: the clients of the rule do without. */
    private static Supplier<SemaphoreTckHarness> missing(String operation) {
        return Variants.served(() -> new Silent(operation));
    }

    private static Supplier<SemaphoreTckHarness> silent(String operation) {
        return () -> new Variants.HintsOnly(new Silent(operation));
    }

    /** A client that it told of damage can do nothing more at any other name. */
    private static final class Shocking extends ProbedServer {
        private final Map<ServerSession, MemoryBackend> clients = new ConcurrentHashMap<>();
        private final Map<MemoryBackend, String> damaged = new ConcurrentHashMap<>();

        @Override
        protected ServerSession open(MemoryBackend client, String name, HolderInfo holder, SessionListener listener) {
            ServerSession session = super.open(client, name, holder, listener);
            clients.put(session, client);
            return session;
        }

        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            MemoryBackend client = clients.get(session);
            if (!damaged.getOrDefault(client, session.name()).equals(session.name())) {
                throw new BackendUnavailableException("'" + session.name() + "' cannot be reached any more", null);
            }
            try {
                return super.exchange(session, sequence, request);
            } catch (IncompatibleStateException e) {
                damaged.put(client, session.name());
                throw e;
            }
        }
    }

    /** Serves whoever came last first, among those that wait. */
    private static final class LastComeFirst extends ProbedServer {
        private final List<ServerSession> waiting = new ArrayList<>();

        LastComeFirst() {
            super(
                    Duration.ofSeconds(1),
                    Stream.concat(ALL.stream(), Stream.of(Capability.ARRIVAL_ORDER))
                            .collect(Collectors.toSet()));
        }

        @Override
        protected List<Answer> grantAll(ServerSession session, MemorySemaphore semaphore, ExchangeRequest request) {
            if (!request.waiting()) {
                waiting.remove(session);
                return super.grantAll(session, semaphore, request);
            }
            if (!waiting.contains(session)) {
                waiting.add(session);
            }
            boolean isLast = waiting.get(waiting.size() - 1) == session;
            List<Answer> answers = isLast
                    ? super.grantAll(session, semaphore, request)
                    : request.wants().stream().map(permits -> Answer.FULL).toList();
            if (!answers.contains(Answer.FULL)) {
                waiting.remove(session);
            }
            return answers;
        }
    }

    /** Takes a missing semaphore for a full one. */
    private static final class Patient extends MemorySemaphore {
        @Override
        protected Answer grant(ServerSession session, int permits, int epochs) {
            return limit == 0 ? Answer.FULL : super.grant(session, permits, epochs);
        }
    }

    /** Hints nobody about what one operation does. */
    private static final class Silent extends ProbedServer {
        private final String muted;
        private final ThreadLocal<String> current = ThreadLocal.withInitial(() -> "");

        Silent(String muted) {
            super(Variants.LONG, ALL);
            this.muted = muted;
        }

        private <T> T during(String operation, Supplier<T> step) {
            current.set(operation);
            try {
                return step.get();
            } finally {
                current.remove();
            }
        }

        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            return during("exchange", () -> super.exchange(session, sequence, request));
        }

        @Override
        protected boolean destroy(String name) {
            return during("destroy", () -> super.destroy(name));
        }

        @Override
        protected void resize(String name, int limit) {
            during("resize", () -> {
                super.resize(name, limit);
                return true;
            });
        }

        @Override
        protected void wake(String name, @Nullable ServerSession except) {
            if (!muted.equals(current.get())) {
                super.wake(name, except);
            }
        }
    }
}
