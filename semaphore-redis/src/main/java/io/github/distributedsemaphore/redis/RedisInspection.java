package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A semaphore and its holders at one moment. */
final class RedisInspection {
    private final RedisLayout layout;
    private final @Nullable Control control;
    private final Map<String, String> holds;
    private final Map<String, String> epochs;
    private final Map<String, String> members;
    private final Map<String, String> deadlines;
    private final long serverMicros;

    private RedisInspection(RedisLayout layout, Replies replies, int[] at) {
        this.layout = layout;
        this.control = Control.parse(layout, replies.get(at[0]));
        this.holds = map(replies.get(at[1]));
        this.epochs = map(replies.get(at[2]));
        this.members = map(replies.get(at[3]));
        this.deadlines = map(replies.get(at[4]));
        this.serverMicros = ArmedState.micros(replies.get(at[5]));
    }

    static RedisInspection read(RedisLayout layout, RedisWire wire, Deadline deadline) {
        // A transaction without a watch: all of it at one moment. A watch that is left from before must not stop it.
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.multi();
        int[] at = {
            Control.read(batch, layout),
            batch.add(RedisVerb.HGETALL, layout.holds()),
            batch.add(RedisVerb.HGETALL, layout.epochs()),
            batch.add(RedisVerb.HGETALL, layout.members()),
            batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1", "WITHSCORES"),
            batch.add(RedisVerb.TIME)
        };
        batch.exec();
        Replies replies = wire.ask(batch, deadline);
        replies.committed();
        return new RedisInspection(layout, replies, at);
    }

    private static Map<String, String> map(Reply reply) {
        List<Reply> pairs = reply.list();
        Map<String, String> map = new HashMap<>();
        for (int i = 0; i + 1 < pairs.size(); i += 2) {
            map.put(pairs.get(i).text(), pairs.get(i + 1).text());
        }
        return map;
    }

    boolean exists() {
        return control != null;
    }

    long serverMicros() {
        return serverMicros;
    }

    private int limit() {
        return control == null ? 0 : control.limit();
    }

    /** Whether a client's time is over. */
    boolean hasDead() {
        return deadlines.keySet().stream().anyMatch(client -> !isAlive(client))
                || holds.values().stream().anyMatch(stored -> !isAlive(HoldValue.clientOf(stored)));
    }

    private boolean isAlive(String client) {
        String deadline = deadlines.get(client);
        return deadline != null && (long) Double.parseDouble(deadline) >= serverMicros / 1_000;
    }

    Optional<SemaphoreDescription> describe() {
        if (control == null) {
            return Optional.empty();
        }
        List<Holder> holders = holds.entrySet().stream()
                .map(hold -> holder(ArmedState.slot(layout, hold.getKey()), hold.getValue()))
                .sorted(Comparator.comparingInt(Holder::slot))
                .toList();
        int held = (int) holders.stream()
                .filter(holder -> holder.state() == HolderState.HELD)
                .count();
        return Optional.of(new SemaphoreDescription(layout.name(), limit(), limit() - held, holders));
    }

    private Holder holder(int slot, String stored) {
        String client = HoldValue.clientOf(stored);
        RedisLiveness.MemberInfo member = RedisLiveness.MemberInfo.parse(members.getOrDefault(client, ""));
        long count = Numbers.parse(epochs.get(Integer.toString(slot)));
        Optional<HoldValue> value = HoldValue.parse(stored);
        return new Holder(
                slot,
                value.map(known -> known.firstEpoch(count)).orElse(0L),
                member.host(),
                member.pid(),
                member.label(),
                value.map(HoldValue::since).orElse(null),
                state(slot, client));
    }

    private HolderState state(int slot, String client) {
        if (!isAlive(client)) {
            return HolderState.EXPIRED;
        }
        return slot > limit() ? HolderState.RETIRED : HolderState.HELD;
    }

    /** How many live clients hold a slot that was removed, counted by slots. */
    int retiredHolders() {
        return (int) holds.entrySet().stream()
                .filter(hold -> ArmedState.slot(layout, hold.getKey()) > limit())
                .filter(hold -> isAlive(HoldValue.clientOf(hold.getValue())))
                .count();
    }
}
