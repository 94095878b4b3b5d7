package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.RedisLayout.MemberInfo;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisErrorException;
import io.github.distributedsemaphore.redis.net.RedisFailures;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Replicas;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.redis.net.ServerClock;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One session's life and what it holds. It lives until its deadline in {@link RedisLayout#lives}, by the server's clock, and
 * beyond it until somebody takes it out. A renewal moves a deadline that is there and never puts one back: what was taken out
 * is dead, and goes on under another name, with nothing held.
 *
 * <p>Thread-safe.
 */
final class RedisLiveness {
    /** For clocks that run at different speeds, and for the part of a millisecond that a deadline cuts off. */
    private static final long MARGIN_PARTS = 100;

    private static final long MARGIN_NANOS = 5_000_000;

    private static final int OUTDATED_PARTS = 8;

    private static final int NOT_RENEWED = -1;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final RedisLayout layout;
    private final RedisConnections connections;
    private final RedisSettings settings;
    private final Runnable surplus;
    private final Duration lease;
    private final Replicas replicas;
    private final ServerClock clock = new ServerClock();
    private final String session = newSession();
    private final Ledger ledger = new Ledger();
    private int life = 1;
    private boolean joined;
    private volatile String client = session + ".1";

    /** While the session takes another name, nobody knows under which it lives. */
    private volatile boolean renaming;

    private @Nullable String nextName;

    /** Whether a renewal did not find the key that it writes: an operator removed it, or the server evicted it. */
    private volatile boolean unguarded;

    /**
     * Begins a session that does not live yet.
     *
     * @param surplus is called if a renewal finds that the session's set may have slots that no caller knows of: a session that makes no
     *     call for an hour would keep them as long
     */
    RedisLiveness(RedisLayout layout, RedisConnections connections, RedisSettings settings, Runnable surplus) {
        this.layout = layout;
        this.connections = connections;
        this.settings = settings;
        this.surplus = surplus;
        this.lease = settings.lease();
        this.replicas = settings.replicas(settings.timeout());
    }

    /** The name under which this session lives. */
    String client() {
        return client;
    }

    /** The clock of the server that has the semaphore. */
    ServerClock clock() {
        return clock;
    }

    /** What the session holds. */
    Ledger ledger() {
        return ledger;
    }

    private static String newSession() {
        return Long.toString(RANDOM.nextLong() >>> 1, Character.MAX_RADIX)
                + Long.toString(RANDOM.nextInt(Character.MAX_RADIX * Character.MAX_RADIX), Character.MAX_RADIX);
    }

    /**
     * Tells whether this session was given up for dead. Only by the thread that does the exchange.
     *
     * @param alive whether it is among the living
     */
    boolean isGivenUp(boolean alive) {
        joined |= alive;
        return joined && !alive;
    }

    /**
     * Takes another name after the session was given up for dead. Only by the thread that does the exchange.
     *
     * @return what it held
     */
    Set<Hold> startAfresh() {
        Set<Hold> lost = ledger.loseAll();
        joined = false;
        client = nextName();
        return lost;
    }

    private String nextName() {
        life++;
        return session + "." + life;
    }

    /**
     * Begins to take another name with everything that the session has: commands under the old one that are still on their way
     * then find nothing that they could move. Only by the thread that does the exchange.
     */
    String beginRename() {
        renaming = true;
        nextName = nextName();
        return nextName;
    }

    /** The name that a transaction may have given to the session without an answer; null if there is none. */
    @Nullable
    String uncertainName() {
        return nextName;
    }

    /** The session lives under the new name, or it is certain that it does not. */
    void endRename(boolean done) {
        if (done && nextName != null) {
            client = nextName;
        }
        nextName = null;
        renaming = false;
    }

    /** Adds the commands that give the session another name, in a transaction under a watch of the control. */
    void rename(CommandBatch batch, String name, View view) {
        batch.add(RedisVerb.ZADD, layout.lives(), Long.toString(view.deadlineMillis()), name);
        batch.add(RedisVerb.ZREM, layout.lives(), client);
        batch.add(RedisVerb.ZREM, layout.waiters(), client);
        batch.add(RedisVerb.SUNIONSTORE, layout.heldBy(name), layout.heldBy(client));
        batch.add(RedisVerb.DEL, layout.heldBy(client));
        batch.add(RedisVerb.RENAME, layout.notesOf(client), layout.notesOf(name));
        batch.add(RedisVerb.RENAME, layout.renewalOf(client), layout.renewalOf(name));
        if (view.control() == null) {
            // The new set has no expiry, and this session may die before its next look sets one.
            long end = Math.max(view.deadlineMillis(), view.serverMicros() / 1_000) + RedisPruning.REMAINS_MILLIS;
            batch.add(RedisVerb.PEXPIREAT, layout.heldBy(name), Long.toString(end));
        }
    }

    /** Adds the commands that make this session live, in a transaction under the watch. */
    void join(CommandBatch batch) {
        long deadline = nextDeadlineMillis();
        batch.add(RedisVerb.ZADD, layout.lives(), "NX", Long.toString(deadline), client);
        batch.add(RedisVerb.SET, layout.renewalOf(client), Long.toString(deadline));
        batch.add(RedisVerb.HSET, layout.notesOf(client), RedisLayout.SELF_FIELD, MemberInfo.write(settings.self()));
    }

    /**
     * Adds a renewal to a transaction under the watch.
     *
     * @param exists whether there is a semaphore. What is left of a destroyed one has an end, so no key is made there
     */
    void extend(CommandBatch batch, boolean exists) {
        String deadline = Long.toString(nextDeadlineMillis());
        extend(batch, client, deadline);
        if (exists) {
            batch.add(RedisVerb.SET, layout.renewalOf(client), deadline, "KEEPTTL");
        } else {
            batch.add(RedisVerb.SET, layout.renewalOf(client), deadline, "XX", "KEEPTTL");
        }
    }

    /** A transaction was done that writes the key of renewals. */
    void guarded() {
        unguarded = false;
    }

    /** GT, so that a worse idea of the server's clock never takes back what was promised. */
    private void extend(CommandBatch batch, String living, String deadline) {
        batch.add(RedisVerb.ZADD, layout.lives(), "XX", "GT", "CH", deadline, living);
    }

    /**
     * Whether an exchange should renew the lease in passing: so much of it is over, or the key is missing that renewals write. Where there
     * is no semaphore no renewal makes that key: an exchange that waited for it would renew without end.
     *
     * @param takes whether it takes slots. The engine's first renewal comes only after a while, and may get no answer
     */
    boolean isDueForRenewal(View view, boolean takes) {
        // A renewal counts from the earliest that the clock can show. Where answers are slow, too little may be left
        // by the latest after a renewal too, which would be due again at once: so it has to gain something.
        long gainMillis = nextDeadlineMillis() - view.deadlineMillis();
        long leftMillis = view.deadlineMillis() - clock.micros() / 1_000;
        boolean tooShort = leftMillis < settings.lifeOfGrant().toMillis() && gainMillis > lease.toMillis() / 8;
        return (unguarded && view.control() != null) || (takes ? tooShort : gainMillis > lease.toMillis() / 2);
    }

    /** From when on {@link #isDueForRenewal} is so of an exchange that takes nothing; the engine renews nobody that holds nothing. */
    Deadline renewalDue(long deadlineMillis) {
        return Deadline.at(clock.latestNanosAt((deadlineMillis - lease.toMillis() / 2 + 1) * 1_000));
    }

    /** Whether what was read at that instant is so old that this client's deadline and the clock are to be read again. */
    boolean isOutdated(long sentNanos) {
        return System.nanoTime() - sentNanos > lease.toNanos() / OUTDATED_PARTS;
    }

    /** From the earliest that the clock can show: the latest is ahead by what an answer took, and a dead holder would live longer by that. */
    private long nextDeadlineMillis() {
        return clock.earliestMicros() / 1_000 + lease.toMillis();
    }

    /**
     * Until when nobody can have taken this client's slots: as long as the server's clock cannot show the deadline.
     *
     * @param sentNanos before the request was sent whose answer said all this
     * @param deadlineMillis the deadline that is stored
     * @param serverMicros the server's time in that answer
     */
    Deadline validUntil(long sentNanos, long deadlineMillis, long serverMicros) {
        long left = deadlineMillis * 1_000_000 - serverMicros * 1_000;
        long margin = MARGIN_NANOS + Math.max(0, left) / MARGIN_PARTS;
        return Deadline.at(sentNanos + left - margin);
    }

    /** Whether this client takes slots that others hand over. They do not wait for replicas, so a client that needs some takes none. */
    boolean takesHandedSlots() {
        return settings.handOver() && replicas.needed() == 0;
    }

    /** What has to have a grant before it counts. */
    Replicas replicas() {
        return replicas;
    }

    Duration renewEvery() {
        return settings.renewEvery();
    }

    /** Renews the session's life. */
    Renewal renew(Collection<Hold> asked) {
        String living = client;
        CommandBatch batch = new CommandBatch();
        String deadline = Long.toString(nextDeadlineMillis());
        extend(batch, living, deadline);
        // Who takes this session for dead watches this key: so it is written after the deadline, and before that is
        // read again.
        int renewal = batch.add(RedisVerb.SET, layout.renewalOf(living), deadline, "XX", "KEEPTTL");
        Known found = lookUp(living, batch, renewal);
        if (found.control() == null && !found.slots().isEmpty()) {
            keepRecords();
            // They may have ended before, and others may have been given the slots.
            found = lookUp(living, new CommandBatch(), NOT_RENEWED);
        }
        return judge(asked, found);
    }

    /**
     * What the server knows of a session at one moment.
     *
     * @param deadlineMillis 0 if it does not live
     * @param control null if there is no semaphore
     * @param slots what the session has
     */
    private record Known(
            long sentNanos,
            long serverMicros,
            long deadlineMillis,
            @Nullable Control control,
            Set<Integer> slots) {}

    /**
     * Sends what is in the batch, and reads what the server knows after it.
     *
     * @param renewal the command that wrote {@link RedisLayout#renewalOf}. Without that key others may take the session for dead at
     *     this moment, so it counts as having nothing
     */
    private Known lookUp(String living, CommandBatch batch, int renewal) {
        long sent = System.nanoTime();
        int life = batch.add(RedisVerb.ZSCORE, layout.lives(), living);
        int control = Control.read(batch, layout);
        int time = batch.add(RedisVerb.TIME);
        int mine = batch.add(RedisVerb.SMEMBERS, layout.heldBy(living));
        batch.confirm(settings.replicas(settings.renewal()));
        Replies replies = ask(batch, settings.renewal());
        long micros = View.micros(replies.get(time));
        clock.read(sent, replies.heardNanos(), micros);
        if (renaming) {
            // Its reply may be lost, and renewals are refused until somebody asks.
            surplus.run();
        }
        requireName(living);
        Reply score = replies.get(life);
        if (score.isNil()) {
            return new Known(sent, micros, 0, null, Set.of());
        }
        requireConfirmed(replies);
        boolean guarded = renewal == NOT_RENEWED || !replies.get(renewal).isNil();
        if (!guarded) {
            unguarded = true;
        }
        Set<Integer> slots = guarded ? View.slots(layout.heldBy(living), replies.get(mine)) : Set.of();
        return new Known(sent, micros, score.score(), Control.parse(layout, replies.get(control)), slots);
    }

    private Renewal judge(Collection<Hold> asked, Known found) {
        if (found.deadlineMillis() == 0) {
            return new Renewal(Deadline.at(found.sentNanos()), Set.copyOf(asked), Set.of());
        }
        Set<Integer> slots = found.slots();
        Set<Hold> lost = new HashSet<>();
        Set<Hold> retired = new HashSet<>();
        for (Hold hold : asked) {
            if (!ledger.has(hold) || !slots.contains(hold.slot())) {
                lost.add(hold);
            } else if (hold.slot() > Control.limitOf(found.control())) {
                retired.add(hold);
            }
        }
        // Nor will it be given back: in its slot may be somebody else.
        lost.forEach(ledger::lost);
        if (!lost.isEmpty() || ledger.owesAnything() || slots.stream().anyMatch(slot -> ledger.holdOf(slot) == null)) {
            surplus.run();
        }
        Deadline end = validUntil(found.sentNanos(), found.deadlineMillis(), found.serverMicros());
        return new Renewal(end, lost, retired);
    }

    /** What was read under a name that the session does not have any more says nothing. */
    private void requireName(String living) {
        if (renaming || !living.equals(client)) {
            throw new BackendUnavailableException(
                    layout.what() + ": the session takes another name, nothing was changed", null);
        }
    }

    private void requireConfirmed(Replies replies) {
        try {
            replies.requireReplicas();
        } catch (RedisErrorException e) {
            throw RedisFailures.certain(layout.what(), e);
        }
    }

    /**
     * The semaphore was destroyed: its records end with the last holder, so each moves that end on. If that fails, the server
     * may forget the session before the deadline that it has just moved: then the renewal does not count, and what was
     * valid before ends before the records do.
     */
    private void keepRecords() {
        try {
            Deadline end = Deadline.after(System.nanoTime(), settings.renewal());
            connections.change(layout.what(), layout.control(), end, (wire, deadline) -> {
                new RedisPruning(layout, wire).sweep(deadline);
                return true;
            });
        } catch (SemaphoreException e) {
            throw new BackendUnavailableException(
                    layout.what() + " is destroyed, and the end of what is left of it could not be put off", e);
        }
    }

    HoldState check(Hold hold) {
        String living = client;
        CommandBatch batch = new CommandBatch();
        int held = batch.add(RedisVerb.SISMEMBER, layout.heldBy(living), Integer.toString(hold.slot()));
        int control = Control.read(batch, layout);
        Replies replies = ask(batch, settings.timeout());
        requireName(living);
        if (!ledger.has(hold) || replies.get(held).number() == 0) {
            ledger.lost(hold);
            return HoldState.LOST;
        }
        Control found = Control.parse(layout, replies.get(control));
        return hold.slot() > Control.limitOf(found) ? HoldState.RETIRED : HoldState.HELD;
    }

    private Replies ask(CommandBatch batch, Duration atMost) {
        return connections.ask(layout.what(), layout.control(), batch, Deadline.after(System.nanoTime(), atMost));
    }
}
