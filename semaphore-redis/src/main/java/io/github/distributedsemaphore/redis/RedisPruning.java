package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Removes dead clients, on a connection that is lent for it.
 *
 * <p>A client whose deadline is past is taken out of {@link RedisLayout#lives}, and in the same transaction all that is in its
 * set becomes free. The transaction watches {@link RedisLayout#renewalOf}, so that a renewal in between saves the client, and touches
 * the control key, so that nothing that the client has sent, and nothing that others give it, is done afterwards. It does not watch
 * the deadlines, which one of some thousand clients moves in each millisecond.
 */
final class RedisPruning {
    /** For so long after the last deadline the records of a semaphore that was destroyed are kept. */
    static final long REMAINS_MILLIS = 2_000;

    private static final String MOST_AT_ONCE = "100";

    /** A client that lives after all makes the transaction fail, and so does a change of the control. After so many the call goes on. */
    private static final int MOST_TRIES = 4;

    private final RedisLayout layout;
    private final RedisWire wire;

    RedisPruning(RedisLayout layout, RedisWire wire) {
        this.layout = layout;
        this.wire = wire;
    }

    /**
     * Takes out the clients whose deadline is past.
     *
     * @param serverMicros the server's time, or an earlier one
     * @param except a client that is alive, whatever its deadline says; empty for none
     * @return whether they are out, or others took them out, or they live after all: whether to look again. False also if there
     *     were none, and if others change something again and again
     */
    boolean prune(long serverMicros, String except, Deadline deadline) {
        for (int tries = 0; tries < MOST_TRIES; tries++) {
            List<String> dead = dead(serverMicros, except, deadline);
            if (dead.isEmpty()) {
                return tries > 0;
            }
            if (bury(dead, serverMicros, deadline)) {
                return true;
            }
        }
        return false;
    }

    private List<String> dead(long serverMicros, String except, Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int dead = addDead(batch, serverMicros);
        List<String> clients =
                new ArrayList<>(wire.ask(batch, deadline).get(dead).texts());
        clients.remove(except);
        return clients;
    }

    private int addDead(CommandBatch batch, long serverMicros) {
        return batch.add(
                RedisVerb.ZRANGEBYSCORE,
                layout.lives(),
                "-inf",
                "(" + serverMicros / 1_000,
                "LIMIT",
                "0",
                MOST_AT_ONCE);
    }

    /**
     * Takes those of these clients out that are dead under a watch of what their renewals write.
     *
     * @return false if something changed since they were found
     */
    private boolean bury(List<String> found, long serverMicros, Deadline deadline) {
        List<String> watched = new ArrayList<>(List.of(layout.control()));
        found.forEach(client -> watched.add(layout.renewalOf(client)));
        CommandBatch look = CommandBatch.watching(watched.toArray(String[]::new));
        int control = Control.read(look, layout);
        int dead = addDead(look, serverMicros);
        // Of a transaction Redis does the rest if a part fails: the sets would be gone, and their slots nowhere.
        look.add(RedisVerb.SRANDMEMBER, layout.free(), "1");
        found.forEach(client -> look.add(RedisVerb.SISMEMBER, layout.heldBy(client), "1"));
        Replies replies = wire.ask(look, deadline);
        replies.requireAll();
        List<String> clients = new ArrayList<>(found);
        clients.retainAll(Set.copyOf(replies.get(dead).texts()));
        if (clients.isEmpty()) {
            return false;
        }
        CommandBatch batch = new CommandBatch().multi();
        Control known = Control.parse(layout, replies.get(control));
        touch(batch, layout, known);
        remove(batch, layout, clients, known != null);
        batch.exec();
        return wire.ask(batch, deadline).committed();
    }

    /** Adds a change of the control, which makes the transactions fail that any client has prepared. A control that is missing stays so. */
    static void touch(CommandBatch batch, RedisLayout layout, @Nullable Control control) {
        if (control != null) {
            batch.add(RedisVerb.HINCRBY, layout.control(), RedisLayout.CHANGES_FIELD, "1");
        }
    }

    /**
     * Adds the commands that remove all that is stored of clients, in a transaction under a watch of the control.
     *
     * @param exists whether there is a semaphore. Of a destroyed one nobody needs the slots, and the union would take its end away
     */
    static void remove(CommandBatch batch, RedisLayout layout, List<String> clients, boolean exists) {
        List<String> held = clients.stream().map(layout::heldBy).toList();
        if (exists) {
            List<String> sets = new ArrayList<>(List.of(layout.free()));
            sets.addAll(held);
            batch.add(RedisVerb.SUNIONSTORE, layout.free(), sets);
        }
        batch.add(RedisVerb.ZREM, layout.lives(), clients);
        batch.add(RedisVerb.ZREM, layout.waiters(), clients);
        batch.add(RedisVerb.DEL, clients.stream().flatMap(layout::keysOf).toArray(String[]::new));
    }

    /**
     * Removes what a semaphore that was destroyed has left: clients that hold nothing, and everything once nobody holds
     * anything. What is left for the holders gets an end a little after the last of them, because nobody may ever look for
     * their death; a holder that lives moves that end on. All that under a watch of the control key: if the semaphore is created
     * again, nothing is done.
     */
    void sweep(Deadline deadline) {
        CommandBatch batch = CommandBatch.watching(layout.control());
        int control = batch.add(RedisVerb.EXISTS, layout.control());
        int alive = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1", "WITHSCORES");
        int free = batch.add(RedisVerb.EXISTS, layout.free());
        int time = batch.add(RedisVerb.TIME);
        Replies replies = wire.ask(batch, deadline);
        replies.requireWatch();
        if (replies.get(control).number() > 0) {
            return;
        }
        List<String> idle = new ArrayList<>(replies.get(alive).map().keySet());
        Map<String, Set<Integer>> held = held(idle, new CommandBatch(), layout, wire, deadline);
        idle.removeAll(held.keySet());
        CommandBatch transaction = new CommandBatch().multi();
        if (!idle.isEmpty()) {
            transaction.add(RedisVerb.ZREM, layout.lives(), idle);
            transaction.add(RedisVerb.DEL, idle.stream().flatMap(layout::keysOf).toArray(String[]::new));
        }
        if (held.isEmpty()) {
            transaction.add(RedisVerb.DEL, layout.free(), layout.epochs(), layout.waiters());
        } else if (replies.get(free).number() == 0 && highest(held) < Control.MAX_LIMIT) {
            // A release is a bare command. It would make this set anew without an end, so the set gets a slot that
            // nobody has.
            transaction.add(RedisVerb.SADD, layout.free(), Integer.toString(highest(held) + 1));
        }
        long now = View.micros(replies.get(time)) / 1_000;
        String end = Long.toString(Math.max(now, last(replies.get(alive).list())) + REMAINS_MILLIS);
        layout.keysOfHolders(held.keySet()).forEach(key -> transaction.add(RedisVerb.PEXPIREAT, key, end));
        transaction.exec();
        wire.ask(transaction, deadline).committed();
    }

    /** The highest score; 0 if there is none. */
    private static long last(List<Reply> membersAndScores) {
        return membersAndScores.isEmpty()
                ? 0
                : membersAndScores.get(membersAndScores.size() - 1).score();
    }

    /**
     * The slots of those clients that hold any. Without a control none can begin to.
     *
     * @param batch what is sent before the question in the same write; nothing is sent if there are no clients
     */
    static Map<String, Set<Integer>> held(
            List<String> clients, CommandBatch batch, RedisLayout layout, RedisWire wire, Deadline deadline) {
        if (clients.isEmpty()) {
            return Map.of();
        }
        Map<String, Integer> asked = new HashMap<>();
        clients.forEach(client -> asked.put(client, batch.add(RedisVerb.SMEMBERS, layout.heldBy(client))));
        Replies replies = wire.ask(batch, deadline);
        replies.requireWatch();
        Map<String, Set<Integer>> held = new HashMap<>();
        asked.forEach((client, index) -> {
            Set<Integer> slots = View.slots(layout.heldBy(client), replies.get(index));
            if (!slots.isEmpty()) {
                held.put(client, slots);
            }
        });
        return held;
    }

    private static int highest(Map<String, Set<Integer>> held) {
        return held.values().stream()
                .flatMapToInt(slots -> slots.stream().mapToInt(slot -> slot))
                .max()
                .orElse(0);
    }
}
