package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.redis.net.ServerClock;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore as one session saw it. While the watch under which it was read stands, the control is as it says, and so is who has
 * been given up for dead; the rest is a hint, and may be from an earlier look.
 *
 * @param base what was read when all was read together last
 * @param mine the slots in this client's set; null if they were not read with the rest
 * @param free free slots within the limit
 * @param allFree whether there are no other free slots
 * @param waiters the first clients in the queue
 * @param queueNanos the local instant before the queue was asked for, by {@code System.nanoTime}
 * @param watch which keys are watched
 * @param slotsRead whether the control, the queue and the free slots were read together, at {@code queueNanos}
 */
record View(
        Base base,
        @Nullable Set<Integer> mine,
        List<Integer> free,
        boolean allFree,
        List<Waiter> waiters,
        long queueNanos,
        Watch watch,
        boolean slotsRead) {
    /**
     * What does not change while the control does not.
     *
     * @param control null if there is no semaphore
     * @param deadlineMillis until when this client lives, by the server's clock; 0 if it does not
     * @param firstEndMillis the earliest deadline of another client; {@link Long#MAX_VALUE} if there is none
     * @param serverMicros the server's time
     * @param sentNanos the local instant before it was asked for, by {@code System.nanoTime}
     * @param heardNanos the local instant when it was answered
     */
    record Base(
            @Nullable Control control,
            long deadlineMillis,
            long firstEndMillis,
            long serverMicros,
            long sentNanos,
            long heardNanos) {}

    /** Which keys are watched. */
    enum Watch {
        NONE,
        CONTROL,
        CONTROL_AND_FREE
    }

    /** How much is read; each includes what stands before it. */
    enum Depth {
        /** What the watch is about. As long as that has not changed since, nobody was given up for dead either. */
        CONTROL,
        QUEUE,
        /** The free slots too: enough to take one, or to know that there is none, where the rest was read a moment ago. */
        SLOTS,
        /** The first deadline too: enough to go on waiting. */
        WAIT,
        ALL
    }

    /** So long after all was read it need not be read again. Somebody's death may be noticed later by as much. */
    private static final long MOMENT_NANOS = 100_000_000;

    /** Up to so many slots it costs nothing to read all that are free. */
    private static final int FEW_SLOTS = 64;

    /** So many of many free slots are read, beside those that are wanted. */
    private static final int SAMPLE = 16;

    /** So many waiters are looked at, and at most so many served at a time. */
    static final int WAITERS = 16;

    /**
     * A client in the queue.
     *
     * @param hintOnly whether it is not to be given a slot: the first of its callers wants several, or it does not listen yet
     */
    record Waiter(String client, boolean hintOnly) {}

    static View nothing() {
        long now = System.nanoTime();
        Base base = new Base(null, 0, Long.MAX_VALUE, 0, now, now);
        return new View(base, null, List.of(), false, List.of(), 0, Watch.NONE, false);
    }

    @Nullable
    Control control() {
        return base.control();
    }

    long deadlineMillis() {
        return base.deadlineMillis();
    }

    long firstEndMillis() {
        return base.firstEndMillis();
    }

    long serverMicros() {
        return base.serverMicros();
    }

    /** The local instant before all was asked for together last. */
    long sentNanos() {
        return base.sentNanos();
    }

    boolean watched() {
        return watch != Watch.NONE;
    }

    boolean freeWatched() {
        return watch == Watch.CONTROL_AND_FREE;
    }

    /** Whether all of it was read together. */
    boolean complete() {
        return mine != null;
    }

    boolean isMember() {
        return deadlineMillis() > 0;
    }

    int limit() {
        return Control.limitOf(control());
    }

    /** The clients in the queue without this one. */
    List<String> others(String client) {
        if (waiters.isEmpty()) {
            return List.of();
        }
        return waiters.stream()
                .map(Waiter::client)
                .filter(waiter -> !waiter.equals(client))
                .toList();
    }

    /** The clients in the queue before this one; all of them if it is not there. */
    List<Waiter> ahead(String client) {
        for (int i = 0; i < waiters.size(); i++) {
            if (waiters.get(i).client().equals(client)) {
                return waiters.subList(0, i);
            }
        }
        return waiters;
    }

    /** Whether at least as many clients wait before this one as are read. */
    boolean isFarBack(String client) {
        return ahead(client).size() == WAITERS;
    }

    /** What is known once a step was done, without a look. */
    View after(Step step) {
        // Each is looked up in a set: there may be as many as a semaphore has, and the time of the call runs.
        List<Integer> left = new ArrayList<>(free);
        left.removeAll(Set.copyOf(step.claims()));
        if (!step.releases().isEmpty()) {
            Set<Integer> more = new LinkedHashSet<>();
            step.releases().forEach(hold -> more.add(hold.slot()));
            more.removeIf(slot -> slot > limit());
            left.forEach(more::remove);
            left.addAll(more);
        }
        List<Waiter> queue = step.hands().isEmpty()
                ? waiters
                : waiters.stream()
                        .filter(waiter -> step.hands().stream()
                                .noneMatch(hand -> hand.client().equals(waiter.client())))
                        .toList();
        Watch stands = step.isBare() && watched() ? Watch.CONTROL : Watch.NONE;
        return new View(base, null, left, allFree, queue, queueNanos, stands, false);
    }

    private View with(List<Waiter> queue, long readNanos, Watch now) {
        return new View(base, mine, free, allFree, queue, readNanos, now, slotsRead);
    }

    /** Whether this client lives, all was read a moment ago and nobody's time is over since, so that the slots alone are to be read again. */
    boolean isRecent(ServerClock clock) {
        return control() != null
                && isMember()
                && System.nanoTime() - sentNanos() < MOMENT_NANOS
                && firstEndMillis() > clock.micros() / 1_000;
    }

    View unwatched() {
        return with(waiters, queueNanos, Watch.NONE);
    }

    /** The queue is not as it was: some of it have heard of a slot, and may not wait any more. */
    View withOldQueue() {
        return with(waiters, System.nanoTime() - Planner.RECENT_NANOS, watch);
    }

    static int slot(String key, String member) {
        long slot = Reply.digits(member);
        if (slot < 1 || slot > Control.MAX_LIMIT) {
            throw new IncompatibleStateException(
                    "The Redis set " + key + " has a member '" + member + "', which is no slot; remove it", null);
        }
        return (int) slot;
    }

    static Set<Integer> slots(String key, Reply members) {
        Set<Integer> slots = new TreeSet<>();
        members.list().forEach(member -> slots.add(slot(key, member.text())));
        return slots;
    }

    static long micros(Reply time) {
        return time.list().get(0).number() * 1_000_000 + time.list().get(1).number();
    }

    /** The commands that read a view, at the end of a batch. */
    static final class Reading {
        private static final int NOT_ASKED = -1;

        private final RedisLayout layout;
        private final String client;
        private final Watch watch;
        private final int sample;
        private int watching = NOT_ASKED;
        private int control = NOT_ASKED;
        private int queue = NOT_ASKED;
        private int life = NOT_ASKED;
        private int mine = NOT_ASKED;
        private int free = NOT_ASKED;
        private int ends = NOT_ASKED;
        private int time = NOT_ASKED;

        private Reading(RedisLayout layout, String client, Watch watch, int sample) {
            this.layout = layout;
            this.client = client;
            this.watch = watch;
            this.sample = sample;
        }

        /**
         * Adds the commands to a batch.
         *
         * @param watch which watch begins
         * @param known the control as it is known
         * @param wanted how many slots are wanted
         */
        static Reading add(
                CommandBatch batch,
                RedisLayout layout,
                String client,
                Depth depth,
                Watch watch,
                @Nullable Control known,
                int wanted) {
            // With many slots a sample of the free ones will do, unless most of them may be beyond the limit.
            boolean all = known == null || known.limit() <= FEW_SLOTS || known.slots() > known.limit();
            Reading reading = new Reading(layout, client, watch, all ? 0 : SAMPLE + wanted);
            switch (watch) {
                case NONE -> {}
                case CONTROL -> reading.watching = batch.add(RedisVerb.WATCH, layout.control());
                case CONTROL_AND_FREE -> reading.watching = batch.add(RedisVerb.WATCH, layout.control(), layout.free());
            }
            reading.control = Control.read(batch, layout);
            if (depth != Depth.CONTROL) {
                reading.queue = addQueue(batch, layout);
            }
            if (depth == Depth.ALL) {
                reading.life = batch.add(RedisVerb.ZSCORE, layout.lives(), client);
                reading.mine = batch.add(RedisVerb.SMEMBERS, layout.heldBy(client));
            }
            if (depth.compareTo(Depth.SLOTS) >= 0) {
                reading.addFree(batch);
            }
            if (depth.compareTo(Depth.WAIT) >= 0) {
                reading.ends = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "1", "WITHSCORES");
                reading.time = batch.add(RedisVerb.TIME);
            }
            return reading;
        }

        /** Adds the command that reads the queue only. */
        static Reading ofQueue(CommandBatch batch, RedisLayout layout, String client) {
            Reading reading = new Reading(layout, client, Watch.NONE, 0);
            reading.queue = addQueue(batch, layout);
            return reading;
        }

        private static int addQueue(CommandBatch batch, RedisLayout layout) {
            return batch.add(RedisVerb.ZRANGE, layout.waiters(), "0", Integer.toString(WAITERS - 1), "WITHSCORES");
        }

        private void addFree(CommandBatch batch) {
            free = sample == 0
                    ? batch.add(RedisVerb.SMEMBERS, layout.free())
                    : batch.add(RedisVerb.SRANDMEMBER, layout.free(), Integer.toString(sample));
        }

        boolean isComplete() {
            return mine != NOT_ASKED;
        }

        /** A transaction after a watch that the server refused would be done unconditionally. */
        private void requireWatch(Replies replies) {
            if (watching != NOT_ASKED) {
                Reply unused = replies.get(watching);
            }
        }

        View parse(Replies replies, long sentNanos) {
            requireWatch(replies);
            Control found = Control.parse(layout, replies.get(control));
            Reply score = replies.get(life);
            Set<Integer> all = slots(layout.free(), replies.get(free));
            Base base = new Base(
                    found,
                    score.isNil() ? 0 : score.score(),
                    firstEnd(replies.get(ends).list()),
                    micros(replies.get(time)),
                    sentNanos,
                    replies.heardNanos());
            Set<Integer> held = slots(layout.heldBy(client), replies.get(mine));
            List<Waiter> waiters = waiters(replies.get(queue));
            return new View(base, held, within(found, all), isAll(all), waiters, sentNanos, watch, true);
        }

        private static List<Integer> within(@Nullable Control control, Set<Integer> slots) {
            int limit = Control.limitOf(control);
            return slots.stream().filter(slot -> slot <= limit).toList();
        }

        private boolean isAll(Set<Integer> slots) {
            return sample == 0 || slots.size() < sample;
        }

        /**
         * Adds what was read to what is known.
         *
         * @return null if the control is not the one that is known: then the rest is not known any more either
         */
        @Nullable
        View complete(View known, Replies replies, long sentNanos) {
            requireWatch(replies);
            if (control != NOT_ASKED
                    && (known.control() == null
                            || !known.control().equals(Control.parse(layout, replies.get(control))))) {
                return null;
            }
            List<Waiter> waiters = queue == NOT_ASKED ? known.waiters() : waiters(replies.get(queue));
            long readNanos = queue == NOT_ASKED ? known.queueNanos() : sentNanos;
            View read = known.with(waiters, readNanos, control == NOT_ASKED ? known.watch() : watch);
            if (free == NOT_ASKED) {
                return read;
            }
            Set<Integer> all = slots(layout.free(), replies.get(free));
            List<Integer> within = within(known.control(), all);
            Base base = ends == NOT_ASKED
                    ? read.base()
                    : new Base(
                            known.control(),
                            known.deadlineMillis(),
                            firstEnd(replies.get(ends).list()),
                            micros(replies.get(time)),
                            sentNanos,
                            replies.heardNanos());
            return new View(base, null, within, isAll(all), waiters, readNanos, read.watch(), true);
        }

        private static List<Waiter> waiters(Reply clientsAndScores) {
            List<Reply> list = clientsAndScores.list();
            List<Waiter> waiters = new ArrayList<>(list.size() / 2);
            for (int i = 0; i + 1 < list.size(); i += 2) {
                waiters.add(new Waiter(list.get(i).text(), (list.get(i + 1).score() & 1) != 0));
            }
            return waiters;
        }

        private long firstEnd(List<Reply> clientsAndScores) {
            for (int i = 0; i + 1 < clientsAndScores.size(); i += 2) {
                if (!clientsAndScores.get(i).text().equals(client)) {
                    return clientsAndScores.get(i + 1).score();
                }
            }
            return Long.MAX_VALUE;
        }
    }
}
