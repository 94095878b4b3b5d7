package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore as one session saw it. While the watch under which it was read stands, the control is as it says, and so is who has
 * been given up for dead; the rest is a hint, and may be from an earlier look.
 *
 * @param control null if there is no semaphore
 * @param deadlineMillis until when this client lives, by the server's clock; 0 if it does not
 * @param mine the slots in this client's set; null if they were not read
 * @param free free slots within the limit
 * @param allFree whether there are no other free slots
 * @param firstEndMillis the earliest deadline of another client; {@link Long#MAX_VALUE} if there is none
 * @param waiters the first clients in the queue
 * @param queueNanos the local instant before the queue was asked for, by {@code System.nanoTime}
 * @param serverMicros the server's time
 * @param watched whether the control is watched
 * @param freeWatched whether the free slots are watched too
 * @param slotsRead whether the control, the queue and the free slots were read together, at {@code queueNanos}
 * @param complete whether all of it was read together
 * @param sentNanos the local instant before all of it was asked together last, by {@code System.nanoTime}
 */
record View(
        @Nullable Control control,
        long deadlineMillis,
        @Nullable Set<Integer> mine,
        List<Integer> free,
        boolean allFree,
        long firstEndMillis,
        List<Waiter> waiters,
        long queueNanos,
        long serverMicros,
        boolean watched,
        boolean freeWatched,
        boolean slotsRead,
        boolean complete,
        long sentNanos) {
    /** How much is read; each includes what stands before it. */
    enum Depth {
        /** What the watch is about. As long as that has not changed since, nobody was given up for dead either. */
        CONTROL,
        QUEUE,
        /** The free slots too: enough to take one, or to know that there is none, where the rest was read a moment ago. */
        SLOTS,
        ALL,
        /** The free slots are watched too. */
        FREE
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
        return new View(
                null,
                0,
                null,
                List.of(),
                false,
                Long.MAX_VALUE,
                List.of(),
                0,
                0,
                false,
                false,
                false,
                false,
                System.nanoTime());
    }

    boolean isMember() {
        return deadlineMillis > 0;
    }

    /** The limit; zero if there is no semaphore. */
    int limit() {
        return control == null ? 0 : control.limit();
    }

    /** The clients in the queue without this one. */
    List<String> others(String client) {
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

    /** What is known once a step was done, without a look. */
    View after(Step step) {
        List<Integer> left = new ArrayList<>(free);
        step.claims().forEach(claim -> left.remove(Integer.valueOf(claim.slot())));
        step.releases().forEach(hold -> {
            if (hold.slot() <= limit() && !left.contains(hold.slot())) {
                left.add(hold.slot());
            }
        });
        List<Waiter> queue = step.hands().isEmpty()
                ? waiters
                : waiters.stream()
                        .filter(waiter -> step.hands().stream()
                                .noneMatch(hand -> hand.client().equals(waiter.client())))
                        .toList();
        boolean stands = watched && step.isBare();
        return new View(
                control,
                deadlineMillis,
                null,
                left,
                allFree,
                firstEndMillis,
                queue,
                queueNanos,
                serverMicros,
                stands,
                false,
                false,
                false,
                sentNanos);
    }

    private View with(List<Waiter> queue, long readNanos, boolean nowWatched) {
        return new View(
                control,
                deadlineMillis,
                mine,
                free,
                allFree,
                firstEndMillis,
                queue,
                readNanos,
                serverMicros,
                nowWatched,
                freeWatched,
                slotsRead,
                complete,
                sentNanos);
    }

    private View withSlots(List<Integer> slots, boolean all) {
        return new View(
                control,
                deadlineMillis,
                null,
                slots,
                all,
                firstEndMillis,
                waiters,
                queueNanos,
                serverMicros,
                watched,
                false,
                true,
                false,
                sentNanos);
    }

    /** Whether this client lives, all was read a moment ago and nobody's time is over since, so that the slots alone are to be read again. */
    boolean isRecent(ServerClock clock) {
        return control != null
                && isMember()
                && System.nanoTime() - sentNanos < MOMENT_NANOS
                && firstEndMillis > clock.micros() / 1_000;
    }

    View unwatched() {
        return with(waiters, queueNanos, false);
    }

    /** The queue is not as it was: some of it have heard of a slot, and may not wait any more. */
    View withOldQueue() {
        return with(waiters, System.nanoTime() - Planner.RECENT_NANOS, watched);
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
        private final boolean watch;
        private final boolean watchFree;
        private final int sample;
        private int control = NOT_ASKED;
        private int queue = NOT_ASKED;
        private int life = NOT_ASKED;
        private int mine = NOT_ASKED;
        private int free = NOT_ASKED;
        private int ends = NOT_ASKED;
        private int time = NOT_ASKED;

        private Reading(RedisLayout layout, String client, boolean watch, boolean watchFree, int sample) {
            this.layout = layout;
            this.client = client;
            this.watch = watch;
            this.watchFree = watchFree;
            this.sample = sample;
        }

        /**
         * Adds the commands to a batch.
         *
         * @param watch whether a watch of the control begins
         * @param known the control as it is known
         * @param wanted how many slots are wanted
         */
        static Reading add(
                CommandBatch batch,
                RedisLayout layout,
                String client,
                Depth depth,
                boolean watch,
                @Nullable Control known,
                int wanted) {
            // With many slots a sample of the free ones will do, unless most of them may be beyond the limit.
            boolean all = known == null || known.limit() <= FEW_SLOTS || known.slots() > known.limit();
            boolean watchFree = depth == Depth.FREE;
            Reading reading = new Reading(layout, client, watch, watchFree, all ? 0 : SAMPLE + wanted);
            if (watchFree) {
                batch.add(RedisVerb.WATCH, layout.control(), layout.free());
            } else if (watch) {
                batch.add(RedisVerb.WATCH, layout.control());
            }
            reading.control = Control.read(batch, layout);
            if (depth != Depth.CONTROL) {
                reading.queue = addQueue(batch, layout);
            }
            if (depth.compareTo(Depth.ALL) >= 0) {
                reading.addRest(batch);
            } else if (depth == Depth.SLOTS) {
                reading.addFree(batch);
            }
            return reading;
        }

        /** Adds the command that reads the queue only. */
        static Reading ofQueue(CommandBatch batch, RedisLayout layout, String client) {
            Reading reading = new Reading(layout, client, false, false, 0);
            reading.queue = addQueue(batch, layout);
            return reading;
        }

        private static int addQueue(CommandBatch batch, RedisLayout layout) {
            return batch.add(RedisVerb.ZRANGE, layout.waiters(), "0", Integer.toString(WAITERS - 1), "WITHSCORES");
        }

        private void addRest(CommandBatch batch) {
            life = batch.add(RedisVerb.ZSCORE, layout.lives(), client);
            mine = batch.add(RedisVerb.SMEMBERS, layout.heldBy(client));
            addFree(batch);
            ends = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "1", "WITHSCORES");
            time = batch.add(RedisVerb.TIME);
        }

        private void addFree(CommandBatch batch) {
            free = sample == 0
                    ? batch.add(RedisVerb.SMEMBERS, layout.free())
                    : batch.add(RedisVerb.SRANDMEMBER, layout.free(), Integer.toString(sample));
        }

        boolean isComplete() {
            return time != NOT_ASKED;
        }

        View parse(Replies replies, long sentNanos) {
            Control found = Control.parse(layout, replies.get(control));
            Reply score = replies.get(life);
            Set<Integer> all = slots(layout.free(), replies.get(free));
            return new View(
                    found,
                    score.isNil() ? 0 : score.score(),
                    slots(layout.heldBy(client), replies.get(mine)),
                    within(found, all),
                    isAll(all),
                    firstEnd(replies.get(ends).list()),
                    waiters(replies.get(queue)),
                    sentNanos,
                    micros(replies.get(time)),
                    watch,
                    watchFree,
                    true,
                    true,
                    sentNanos);
        }

        private static List<Integer> within(@Nullable Control control, Set<Integer> slots) {
            int limit = control == null ? 0 : control.limit();
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
            if (control != NOT_ASKED
                    && (known.control() == null
                            || !known.control().equals(Control.parse(layout, replies.get(control))))) {
                return null;
            }
            List<Waiter> waiters = queue == NOT_ASKED ? known.waiters() : waiters(replies.get(queue));
            long readNanos = queue == NOT_ASKED ? known.queueNanos() : sentNanos;
            View read = known.with(waiters, readNanos, watch || (control == NOT_ASKED && known.watched()));
            if (free == NOT_ASKED) {
                return read;
            }
            Set<Integer> all = slots(layout.free(), replies.get(free));
            return read.withSlots(within(known.control(), all), isAll(all));
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
