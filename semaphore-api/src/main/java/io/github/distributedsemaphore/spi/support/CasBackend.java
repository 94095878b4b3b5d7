package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A semaphore backend over any {@link CasStore}: slots, leases by the server's clock, fences, removed slots, groups that are
 * granted whole or not at all, unknown outcomes, descriptions.
 *
 * <p>All that is known of a semaphore is one entry. Each change reads it, or takes what this client wrote or read last, and writes
 * the changed entry if nobody else came in between; otherwise it tries again upon what is there. An acquire or a release that
 * meets nobody is one request. A refusal always rests on an entry that was read during the call.
 *
 * <p>A lease ends by the server's clock, which each answer brings along. A permit is valid until then less one percent of the
 * lease, for clocks that run at different rates, counted from before the request that confirmed it. A server whose clock is set
 * forwards ends leases early by as much.
 *
 * <p>Thread-safe.
 */
public final class CasBackend implements SemaphoreBackend {
    private static final Logger LOG = LoggerFactory.getLogger(CasBackend.class);
    /** Clocks that run at different rates, and two readings that were cut to milliseconds. */
    private static final int RATE_MARGIN = 100;

    private static final int CUT_MILLIS = 2;
    private static final long OLD_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long LONGEST_PAUSE_NANOS = 1_000_000;

    /**
     * How a client uses its store.
     *
     * @param self what to store beside each hold
     * @param detection within which time the slot of a dead holder is free
     * @param timeout how long a call of the port may take
     * @param poll how often a client that waits asks, at most 200 ms; zero if the store has hints
     */
    public record Settings(HolderInfo self, Duration detection, Duration timeout, Duration poll) {
        /** A slot is kept for 250 ms for the client that is called. One that asks less often would never come in time. */
        private static final Duration LONGEST_POLL = Duration.ofMillis(200);

        /**
         * Checks them.
         *
         * @param self what to store beside each hold
         * @param detection within which time the slot of a dead holder is free
         * @param timeout how long a call of the port may take
         * @param poll how often a client that waits asks
         * @throws IllegalArgumentException if {@code poll} is longer than 200 ms
         */
        public Settings {
            if (poll.compareTo(LONGEST_POLL) > 0) {
                throw new IllegalArgumentException("poll is " + Durations.format(poll) + ", at most "
                        + Durations.format(LONGEST_POLL) + " is allowed");
            }
        }

        /**
         * Reads {@code detection} (2s to 1h, by default 10s), {@code timeout} (100ms to 1m, by default 5s) and, for a store
         * without hints, {@code poll} (5ms to 200ms, by default 100ms).
         *
         * @param uri where they stand
         * @param self what to store beside each hold
         * @param hints whether the store has hints
         * @return the settings
         * @throws IllegalArgumentException if one is out of its bounds
         */
        public static Settings from(BackendUri uri, HolderInfo self, boolean hints) {
            Duration detection =
                    uri.duration("detection", Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofHours(1));
            Duration timeout =
                    uri.duration("timeout", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofMinutes(1));
            Duration poll = hints
                    ? Duration.ZERO
                    : uri.duration("poll", Duration.ofMillis(100), Duration.ofMillis(5), LONGEST_POLL);
            return new Settings(self, detection, timeout, poll);
        }

        /** What is left of the detection time is for a waiter to notice the end. */
        Duration lease() {
            Duration slack = detection.dividedBy(5);
            return detection.minus(slack.compareTo(Duration.ofSeconds(1)) < 0 ? slack : Duration.ofSeconds(1));
        }

        Duration renewEvery() {
            return lease().dividedBy(5);
        }

        /** Several renewals that are not answered fit between two confirmations. */
        Duration renewalTimeout() {
            return timeout.compareTo(renewEvery()) < 0 ? timeout : renewEvery();
        }
    }

    /** What was seen of an entry, when the request was sent that brought it, and when its answer was there, by {@link System#nanoTime}. */
    record Seen(CasStore.Entry entry, long sent, long received) {
        /** Of an answer that has just come. */
        Seen(CasStore.Entry entry, long sent) {
            this(entry, sent, System.nanoTime());
        }

        /** The earliest that the server's clock can show now: it was read before the answer came. */
        long earliestClock() {
            long passed = (System.nanoTime() - received) / 1_000_000;
            return entry.clockMillis() + Math.max(0, passed - passed / RATE_MARGIN - CUT_MILLIS);
        }

        /** The latest that the server's clock can show now. */
        long latestClock() {
            return entry.clockMillis() + (System.nanoTime() - sent) / 1_000_000 + 1;
        }

        /** By then this process's clock may have drifted from the server's. */
        boolean isOld() {
            return System.nanoTime() - sent > OLD_NANOS;
        }
    }

    /** A row as it is after a change or a look, and the request that decided. */
    record Outcome(CasRow row, Seen seen) {
        /** Until when a lease is sure that began, or was extended, by this change. */
        Deadline validUntil() {
            long left = row.leaseEnd - seen.entry().clockMillis();
            return Deadline.after(seen.sent(), Duration.ofMillis(left - left / RATE_MARGIN - CUT_MILLIS));
        }

        Deadline firstEnd() {
            long end = row.firstEnd();
            return end == CasRow.NEVER
                    ? Deadline.NEVER
                    : Deadline.after(
                            System.nanoTime(),
                            Duration.ofMillis(end - seen.entry().clockMillis() + 1));
        }
    }

    final CasStore store;
    final Settings settings;
    private final long leaseMillis;
    private final Guarantees guarantees;
    private final CasAdmin admin = new CasAdmin(this);
    private final Map<String, Long> tended = new ConcurrentHashMap<>();
    private volatile Executor threads = ForkJoinPool.commonPool();
    private volatile boolean closed;

    /**
     * Creates it.
     *
     * @param name the name of the backend, such as {@code postgresql}
     * @param store where the semaphores are; closed with this backend
     * @param settings how to use it
     * @param more adds to the guarantees what is particular to this store, or corrects them. Before that they are those of a store
     *     that loses nothing by a restart; names have at most 255 bytes, and limits are at most 1,000
     */
    public CasBackend(String name, CasStore store, Settings settings, UnaryOperator<GuaranteesBuilder> more) {
        this.store = store;
        this.settings = settings;
        this.leaseMillis = settings.lease().toMillis();
        this.guarantees = more.apply(guarantees(name)).build();
    }

    private GuaranteesBuilder guarantees(String name) {
        boolean polls = !settings.poll().isZero();
        Duration lossNotice = settings.renewEvery().plusSeconds(1);
        GuaranteesBuilder builder = GuaranteesBuilder.of(name)
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.LEASE,
                        Capability.FENCING,
                        Capability.DURABLE_FENCING,
                        Capability.DURABLE_STATE,
                        Capability.LISTING,
                        Capability.ATOMIC_ADMINISTRATION,
                        Capability.ARRIVAL_ORDER)
                .detection(settings.lease().dividedBy(2), settings.detection())
                .lossNoticeBound(lossNotice)
                .wakeUpBound(
                        polls
                                ? settings.poll().multipliedBy(2).plusMillis(CasRow.CALL_MILLIS + 300)
                                : Duration.ofSeconds(1))
                .callBound(settings.timeout().multipliedBy(3))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .exposure(Fault.BACKEND_RESTART, Duration.ZERO)
                .exposure(Fault.STATE_REMOVED, lossNotice)
                .sizes(255, 1_000)
                .notes("Leases end by the server's clock: if it is set forwards, they end early by as much.");
        return polls ? builder.notes("Waiters ask every 'poll'.") : builder;
    }

    Deadline deadline() {
        return Deadline.after(System.nanoTime(), settings.timeout());
    }

    @Override
    public Guarantees guarantees() {
        return guarantees;
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        threads = listener::execute;
        return new CasSession(this, name);
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        closed = true;
        store.close();
    }

    /** Reads a semaphore. */
    Outcome look(String name) {
        Seen seen = read(name, deadline());
        return new Outcome(row(name, seen), seen);
    }

    private CasRow row(String name, Seen seen) {
        return CasRow.parse(name, seen.entry(), seen.earliestClock(), seen.latestClock(), leaseMillis);
    }

    private Seen read(String name, Deadline end) {
        long sent = System.nanoTime();
        return new Seen(store.read(name, end), sent);
    }

    /**
     * Changes a semaphore.
     *
     * @param known what was seen last, which may be out of date; null to read first
     * @param body what to do to a row; may run several times, upon one row after the other
     * @throws BackendUnavailableException if nothing was changed
     * @throws io.github.distributedsemaphore.OutcomeUnknownException if it may have been
     */
    Outcome change(String name, @Nullable Seen known, Deadline end, Consumer<CasRow> body) {
        try (InterruptShield shield = new InterruptShield()) {
            boolean fresh = known == null || known.isOld();
            Seen seen = known == null || fresh ? read(name, end) : known;
            for (int lost = 0; ; ) {
                CasRow row = row(name, seen);
                body.accept(row);
                row.call();
                if (!fresh && row.isDoubtful()) {
                    seen = read(name, end);
                    fresh = true;
                    continue;
                }
                String value = row.encode();
                CasStore.Entry before = seen.entry();
                if (!row.isChanged() || (value.isEmpty() && before.version() == 0)) {
                    return new Outcome(row, seen);
                }
                long sent = System.nanoTime();
                CasStore.Written written =
                        store.write(new CasStore.Change(name, before.version(), value, row.hint()), end);
                seen = new Seen(written.now(), sent);
                if (written.done()) {
                    tendLater(name, row.millisToTend());
                    return new Outcome(row, seen);
                }
                fresh = true;
                pause(name, ++lost, end, shield);
            }
        }
    }

    /** The first loser tries again at once, because another client had its turn. Several losers would meet again. */
    private static void pause(String name, int lost, Deadline end, InterruptShield shield) {
        if (end.isPast(System.nanoTime())) {
            throw new BackendUnavailableException(
                    "Others changed semaphore '" + name + "' " + lost
                            + " times while this client tried to: nothing was done, try again",
                    null,
                    name);
        }
        if (lost > 1) {
            shield.pause(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE_NANOS));
        }
    }

    /** When to ask again for waiting callers: at the end of the first lease, and at intervals where there are no hints. */
    Deadline recheck(Outcome outcome) {
        Deadline poll = settings.poll().isZero() ? Deadline.NEVER : Deadline.after(System.nanoTime(), settings.poll());
        return outcome.firstEnd().earlier(poll);
    }

    /**
     * Looks at a row again later, on the engine's threads: calls the next waiting client if the one that was called does not come, and
     * removes what is left of a destroyed semaphore.
     */
    void tendLater(String name, OptionalLong millis) {
        millis.ifPresent(wait -> {
            long due = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(wait);
            if (tended.merge(name, due, Math::min) == due) {
                Runnable look = () -> {
                    // One that is due earlier does it, and then looks again.
                    if (tended.remove(name, due)) {
                        tend(name, deadline());
                    }
                };
                startOrForget(
                        name,
                        due,
                        () -> CompletableFuture.delayedExecutor(
                                        wait,
                                        TimeUnit.MILLISECONDS,
                                        task -> startOrForget(name, due, () -> threads.execute(task)))
                                .execute(look));
            }
        });
    }

    /** A look that cannot be started, for want of memory say, fails no change that was made, and keeps no later one away. */
    private void startOrForget(String name, long due, Runnable start) {
        try {
            start.run();
        } catch (RuntimeException | Error e) {
            tended.remove(name, due);
            LOG.warn("What is left of semaphore '{}' is looked at after its next change only", name, e);
        }
    }

    /** Does what {@link #tendLater} is for, now. */
    void tend(String name, Deadline end) {
        if (closed) {
            return;
        }
        try {
            Outcome outcome = change(name, null, end, CasRow::removeIfGone);
            tendLater(name, outcome.row().millisToTend());
        } catch (SemaphoreException e) {
            LOG.debug("What is left of semaphore '{}' is looked at later: {}", name, e.toString());
            tendLater(name, OptionalLong.of(settings.detection().toMillis()));
        }
    }
}
