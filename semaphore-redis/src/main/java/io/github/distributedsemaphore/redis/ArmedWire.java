package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connection of one session, with the watch that stands on it. Opens another when it is broken, and then makes sure that
 * epochs rise. For one thread at a time, but for {@link #close}.
 */
final class ArmedWire {
    private final RedisLayout layout;
    private final RedisConnections connections;
    private final RedisLiveness liveness;
    private volatile @Nullable RedisWire wire;
    private volatile boolean closed;
    private @Nullable ArmedState state;
    private ArmedState lastKnown;

    /** The run id of the server at the other end; empty if it does not say. */
    private String server = "";

    private boolean baseChecked;
    private boolean isNewServer;
    private boolean isOtherServer;

    private long chain;

    /** What a transaction did, and what was read under the watch that follows it. */
    final class Answer {
        private final Replies replies;
        private final StateReading reading;
        private final ArmedState expected;
        private final long sentNanos;

        private Answer(Replies replies, StateReading reading, ArmedState expected, long sentNanos) {
            this.replies = replies;
            this.reading = reading;
            this.expected = expected;
            this.sentNanos = sentNanos;
        }

        Replies replies() {
            return replies;
        }

        /** The state; to be asked for after the transaction was looked at, because reading it may fail. */
        ArmedState state(Deadline deadline) {
            ArmedState known = known();
            return known == null ? rearm(true, deadline) : known;
        }

        /** The state, if it does not have to be asked for. */
        @Nullable
        ArmedState known() {
            if (!isOpen()) {
                // The keys have moved to another server since the transaction.
                return null;
            }
            if (reading.isComplete()) {
                return keep(reading.parse(replies, sentNanos));
            }
            ArmedState known = replies.executed() ? reading.complete(expected, replies) : null;
            return known == null ? null : remember(known);
        }
    }

    ArmedWire(RedisLayout layout, RedisConnections connections, RedisLiveness liveness) {
        this.layout = layout;
        this.connections = connections;
        this.liveness = liveness;
        this.lastKnown =
                new ArmedState(null, 0, 0, null, Long.MAX_VALUE, List.of(), 0, false, false, System.nanoTime());
    }

    boolean wasUsed() {
        return wire != null;
    }

    /**
     * A number that changes whenever somebody has touched the control key, or may have done so unnoticed: what this session
     * knew to be its own may have been taken from it.
     */
    long chain() {
        return chain;
    }

    /** The state that was read last, also if it is not watched any more. */
    ArmedState lastKnown() {
        return lastKnown;
    }

    private boolean isOpen() {
        RedisWire open = wire;
        return open != null && open.isOpen();
    }

    /** The state under a watch, of the last transaction; null if something happened since on this connection. */
    @Nullable
    ArmedState watchedState() {
        return isOpen() ? state : null;
    }

    /** The same, asked for if need be. */
    ArmedState armed(Deadline deadline) {
        ArmedState known = watchedState();
        return known == null ? rearm(false, deadline) : known;
    }

    /** Begins a new watch and reads the state. */
    ArmedState rearm(boolean slots, Deadline deadline) {
        RedisWire open = open(deadline);
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        ArmedState read = read(open, reading(batch, ArmedState.Depth.ALL, slots), deadline);
        Control control = read.control();
        if (control == null || baseChecked) {
            return read;
        }
        if (!server.isEmpty() && server.equals(control.server())) {
            baseChecked = true;
            return read;
        }
        return raise(control, read, deadline);
    }

    /** Goes on with the watch, watches the holds too, and reads the state anew. */
    ArmedState watchHolds(Deadline deadline) {
        armed(deadline);
        return read(open(deadline), reading(new CommandBatch(), ArmedState.Depth.HOLDS, true), deadline);
    }

    /**
     * This server is not the one that the base of the epochs was chosen at, or does not say: its data may be older than what
     * was granted. A base by the time is above all epochs that were ever granted, as there are fewer than 256 in a
     * microsecond.
     */
    private ArmedState raise(Control control, ArmedState read, Deadline deadline) {
        long base = Math.max(control.base(), read.serverMicros() << 8);
        CommandBatch batch = new CommandBatch().multi();
        batch.add(
                RedisVerb.HSET,
                layout.control(),
                RedisLayout.BASE_FIELD,
                Long.toString(base),
                RedisLayout.SERVER_FIELD,
                server);
        batch.exec();
        Answer answer = commit(batch, true, deadline);
        if (answer.replies().committed()) {
            baseChecked = true;
            return answer.state(deadline);
        }
        return rearm(true, deadline);
    }

    /** Sends a transaction under the watch, begins the next watch in the same write and reads everything under it. */
    Answer commit(CommandBatch batch, boolean slots, Deadline deadline) {
        return commit(batch, reading(batch, ArmedState.Depth.ALL, slots), lastKnown, deadline);
    }

    /** The same, but what this step does not change is read as the depth says only. */
    Answer commit(CommandBatch batch, Step step, ArmedState.Depth depth, boolean slots, Deadline deadline) {
        return commit(batch, reading(batch, depth, slots), lastKnown.after(step), deadline);
    }

    /** The same, without waiting: what returns the answer or throws comes on a thread that must not wait. */
    void send(CommandBatch batch, Step step, ArmedState.Depth depth, boolean slots, Consumer<Supplier<Answer>> then) {
        StateReading reading = reading(batch, depth, slots);
        ArmedState expected = lastKnown.after(step);
        RedisWire open = watched();
        state = null;
        long sent = System.nanoTime();
        open.send(batch, replies -> then.accept(() -> answer(replies.get(), reading, expected, sent)));
    }

    private Answer commit(CommandBatch batch, StateReading reading, ArmedState expected, Deadline deadline) {
        RedisWire open = watched();
        state = null;
        long sent = System.nanoTime();
        return answer(open.ask(batch, deadline), reading, expected, sent);
    }

    private Answer answer(Replies replies, StateReading reading, ArmedState expected, long sentNanos) {
        if (!replies.executed()) {
            chain++;
        }
        return new Answer(replies, reading, expected, sentNanos);
    }

    /** The connection on which the watch stands: on any other the transaction would be done unconditionally. */
    private RedisWire watched() {
        RedisWire open = wire;
        if (open == null || !open.isOpen() || state == null) {
            throw new MovedException(layout.what() + ": the watch is lost with its connection");
        }
        return open;
    }

    private StateReading reading(CommandBatch batch, ArmedState.Depth depth, boolean slots) {
        return new StateReading(batch, layout, liveness.client(), depth, slots || lastKnown.areSlotsWorthAsking());
    }

    private ArmedState read(RedisWire open, StateReading reading, Deadline deadline) {
        state = null;
        long sent = System.nanoTime();
        return keep(reading.parse(open.ask(reading.batch(), deadline), sent));
    }

    private ArmedState keep(ArmedState read) {
        // Without a control nobody touches it.
        if (read.control() == null || !read.control().equals(lastKnown.control())) {
            chain++;
        }
        if (isNewServer) {
            liveness.clock().restart(read.sentNanos(), read.serverMicros());
            isNewServer = false;
        } else {
            liveness.clock().read(read.sentNanos(), read.serverMicros());
        }
        return remember(read);
    }

    private ArmedState remember(ArmedState known) {
        state = known;
        lastKnown = known;
        return known;
    }

    /** Whether the server is another one than before, which nobody has dealt with yet. */
    boolean isOtherServer() {
        return isOtherServer;
    }

    /** What the other server may lack was looked for. */
    void knowServer() {
        isOtherServer = false;
    }

    /** Touches the control key: no transaction that was sent before can be done any more. */
    ArmedState touch(Deadline deadline) {
        disarm();
        while (true) {
            ArmedState read = rearm(true, deadline);
            if (read.control() == null) {
                return read;
            }
            CommandBatch batch = new CommandBatch().multi();
            batch.add(RedisVerb.HINCRBY, layout.control(), RedisLayout.CHANGES_FIELD, "1");
            batch.exec();
            Answer answer = commit(batch, true, deadline);
            if (answer.replies().committed()) {
                return answer.state(deadline);
            }
        }
    }

    /** Throws if there is no semaphore, but something else under its key. */
    void refuseForeign(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int exists = batch.add(RedisVerb.EXISTS, layout.control());
        if (ask(batch, deadline).get(exists).number() > 0) {
            throw Control.foreign(layout);
        }
    }

    /** Asks without touching the watch. */
    Replies ask(CommandBatch batch, Deadline deadline) {
        return open(deadline).ask(batch, deadline);
    }

    void tell(CommandBatch batch) {
        RedisWire open = wire;
        if (open != null) {
            open.tell(batch);
        }
    }

    /** Lends the connection to somebody who watches something else. */
    RedisWire forOther(Deadline deadline) {
        state = null;
        return open(deadline);
    }

    /** Ends the watch: every watch makes the transactions of all others a little slower. Does not wait. */
    void rest() {
        if (state != null) {
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.UNWATCH);
            tell(batch);
            disarm();
        }
    }

    /** What is known may not be true any more. */
    void disarm() {
        state = null;
    }

    /** Nothing is known for sure: the next call begins on a new connection. */
    void drop() {
        disarm();
        RedisWire open = wire;
        if (open != null) {
            open.close();
        }
    }

    /** Ends it for good. From any thread, at any time; does not wait. */
    void close() {
        closed = true;
        RedisWire open = wire;
        if (open != null) {
            open.close();
        }
    }

    private RedisWire open(Deadline deadline) {
        RedisWire open = wire;
        if (open != null && open.isOpen()) {
            return open;
        }
        state = null;
        chain++;
        if (!closed) {
            open = connections.open(layout.control(), deadline);
            wire = open;
        }
        if (closed || open == null) {
            close();
            throw new BackendUnavailableException(layout.what() + ": the session has ended", null);
        }
        baseChecked = false;
        String before = server;
        server = open.runId();
        isNewServer = !server.equals(before);
        isOtherServer |= isNewServer && !before.isEmpty();
        return open;
    }
}
