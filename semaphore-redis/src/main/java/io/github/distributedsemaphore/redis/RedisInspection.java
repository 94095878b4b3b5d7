package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.redis.RedisLayout.HoldNote;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A semaphore and its holders at one moment. */
final class RedisInspection {
    /** So often the clients are asked for again because others came meanwhile; then those are left out. */
    private static final int MOST_LOOKS = 5;

    private final RedisLayout layout;
    private final @Nullable Control control;
    private final Map<String, String> deadlines;
    private final long serverMicros;
    private final List<Held> held = new ArrayList<>();

    /** A slot in the set of a client. */
    private record Held(int slot, String client, @Nullable HoldNote note, long count, RedisLayout.MemberInfo member) {}

    private RedisInspection(
            RedisLayout layout, @Nullable Control control, Map<String, String> deadlines, long serverMicros) {
        this.layout = layout;
        this.control = control;
        this.deadlines = deadlines;
        this.serverMicros = serverMicros;
    }

    static RedisInspection read(RedisLayout layout, RedisWire wire, Deadline deadline) {
        List<String> clients = clients(layout, wire, deadline);
        for (int look = 1; ; look++) {
            List<String> asked = clients;
            // A transaction without a watch, so all at one moment. A watch from before must not stop it.
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.UNWATCH);
            int control = Control.read(batch.multi(), layout);
            int epochs = batch.add(RedisVerb.HGETALL, layout.epochs());
            int alive = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1", "WITHSCORES");
            int time = batch.add(RedisVerb.TIME);
            asked.forEach(client -> {
                batch.add(RedisVerb.SMEMBERS, layout.heldBy(client));
                batch.add(RedisVerb.HGETALL, layout.notesOf(client));
            });
            batch.exec();
            Replies replies = wire.ask(batch, deadline);
            replies.committed();
            Map<String, String> deadlines = replies.get(alive).map();
            clients = List.copyOf(deadlines.keySet());
            if (asked.containsAll(clients) || look == MOST_LOOKS) {
                RedisInspection seen = new RedisInspection(
                        layout, Control.parse(layout, replies.get(control)), deadlines, View.micros(replies.get(time)));
                Map<String, String> counts = replies.get(epochs).map();
                for (int i = 0; i < asked.size(); i++) {
                    seen.add(asked.get(i), replies.get(time + 1 + 2 * i), replies.get(time + 2 + 2 * i), counts);
                }
                return seen;
            }
        }
    }

    private static List<String> clients(RedisLayout layout, RedisWire wire, Deadline deadline) {
        CommandBatch question = new CommandBatch();
        int lives = question.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1");
        return wire.ask(question, deadline).get(lives).texts();
    }

    private void add(String client, Reply slots, Reply stored, Map<String, String> counts) {
        Map<String, String> notes = stored.map();
        RedisLayout.MemberInfo member = RedisLayout.MemberInfo.parse(notes.getOrDefault(RedisLayout.SELF_FIELD, ""));
        for (int slot : View.slots(layout.heldBy(client), slots)) {
            String field = Integer.toString(slot);
            held.add(new Held(slot, client, HoldNote.parse(notes.get(field)), Reply.digits(counts.get(field)), member));
        }
    }

    boolean exists() {
        return control != null;
    }

    long serverMicros() {
        return serverMicros;
    }

    private int limit() {
        return Control.limitOf(control);
    }

    /** Whether a client's time is over. */
    boolean hasDead() {
        return deadlines.keySet().stream().anyMatch(client -> !isAlive(client));
    }

    private boolean isAlive(String client) {
        String deadline = deadlines.get(client);
        return deadline != null && (long) Double.parseDouble(deadline) >= serverMicros / 1_000;
    }

    Optional<SemaphoreDescription> describe() {
        if (control == null) {
            return Optional.empty();
        }
        List<Holder> holders = held.stream()
                .map(this::holder)
                .sorted(Comparator.comparingInt(Holder::slot))
                .toList();
        int taken = (int) holders.stream()
                .filter(holder -> holder.state() == HolderState.HELD)
                .count();
        return Optional.of(new SemaphoreDescription(layout.name(), limit(), limit() - taken, holders));
    }

    private Holder holder(Held hold) {
        HoldNote note = hold.note();
        return new Holder(
                hold.slot(),
                note == null ? 0 : note.firstEpoch(hold.count()),
                hold.member().host(),
                hold.member().pid(),
                hold.member().label(),
                note == null ? null : Instant.ofEpochMilli(note.sinceMillis()),
                state(hold));
    }

    private HolderState state(Held hold) {
        if (!isAlive(hold.client())) {
            return HolderState.EXPIRED;
        }
        return hold.slot() > limit() ? HolderState.RETIRED : HolderState.HELD;
    }

    /** How many live clients hold a slot that was removed, counted by slots. */
    int retiredHolders() {
        return (int) held.stream()
                .filter(hold -> hold.slot() > limit())
                .filter(hold -> isAlive(hold.client()))
                .count();
    }
}
