package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.WireException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
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

    /** What is known of the semaphore on this connection; null if nothing is. */
    private @Nullable View view;

    /** What was known last, also if it does not hold any more. */
    private View lastKnown = View.nothing();

    /** A reading that was sent and not looked at. */
    private @Nullable Ahead ahead;

    /** The history of the server at the other end; empty if it does not say. */
    private String server = "";

    private boolean baseChecked;

    /** Of all bases that this session has seen. */
    private long highestBase;

    private boolean isNewServer;
    private boolean isOtherServer;

    /** A reading that is under way while nobody waits for it. */
    record Ahead(
            CommandBatch batch, View.Reading reading, long sentNanos, CompletableFuture<Supplier<Replies>> replies) {}

    /**
     * What a step did, and what was read after it.
     *
     * @param expected what is known once the step is done
     * @param done false if something that it watched was touched
     */
    record Answer(Step.Prepared prepared, Replies replies, View expected, boolean done, long sentNanos) {}

    ArmedWire(RedisLayout layout, RedisConnections connections, RedisLiveness liveness) {
        this.layout = layout;
        this.connections = connections;
        this.liveness = liveness;
    }

    /** What was read last, also if it does not hold any more. */
    View lastKnown() {
        return lastKnown;
    }

    boolean isOpen() {
        RedisWire open = wire;
        return open != null && open.isOpen();
    }

    /** What is known on this connection, watched or not; null if something has to be read first. */
    @Nullable
    View known() {
        return isOpen() && ahead == null ? view : null;
    }

    /** The view under a watch, asked for if need be. */
    View armed(int wanted, Deadline deadline) {
        Ahead sent = isOpen() ? ahead : null;
        if (sent != null) {
            try {
                View read = arrived(InterruptShield.await(sent.replies(), deadline));
                return read == null ? rearm(wanted, deadline) : read;
            } catch (ExecutionException | TimeoutException e) {
                drop();
                throw new WireException("the server did not answer in time", e, false);
            }
        }
        View known = known();
        return known != null && known.watched() ? known : rearm(wanted, deadline);
    }

    /** Sends what begins a watch, and does not wait. Does nothing if the watch stands, or if there is no connection. */
    @Nullable
    Ahead armAhead(int wanted) {
        RedisWire open = wire;
        if (open == null || !open.isOpen() || !baseChecked) {
            return null;
        }
        Ahead known = ahead;
        if (known == null) {
            CommandBatch batch = new CommandBatch();
            View.Depth depth =
                    lastKnown.isRecent(liveness.clock()) && !isOtherServer ? View.Depth.SLOTS : View.Depth.ALL;
            View.Reading reading = reading(batch, depth, View.Watch.CONTROL, wanted);
            known = new Ahead(batch, reading, System.nanoTime(), new CompletableFuture<>());
            ahead = known;
            view = null;
            CompletableFuture<Supplier<Replies>> replies = known.replies();
            open.send(batch, replies::complete);
        }
        return open.isOpen() ? known : null;
    }

    /** Takes up the reading that was sent ahead; null if all has to be read. */
    @Nullable
    View arrived(Supplier<Replies> supplied) {
        Ahead sent = ahead;
        ahead = null;
        if (sent == null) {
            throw new IllegalStateException(layout.what() + ": nothing was sent ahead");
        }
        return taken(sent.reading(), lastKnown, supplied.get(), sent.sentNanos());
    }

    /** The view after a step, to be asked for after the step was looked at, because reading it may fail; null if all has to be read. */
    @Nullable
    View known(Answer answer) {
        // Or the keys have moved to another server since the transaction.
        return isOpen()
                ? taken(
                        answer.prepared().reading(),
                        answer.done() ? answer.expected() : null,
                        answer.replies(),
                        answer.sentNanos())
                : null;
    }

    private @Nullable View taken(View.Reading reading, @Nullable View before, Replies replies, long sentNanos) {
        if (reading.isComplete()) {
            return keep(reading.parse(replies, sentNanos));
        }
        View known = before == null ? null : reading.complete(before, replies, sentNanos);
        return known == null ? null : remember(known);
    }

    /** Begins a new watch of the control and reads everything. */
    View rearm(int wanted, Deadline deadline) {
        return read(View.Watch.CONTROL, wanted, deadline);
    }

    /** Reads what a client has to know that goes on waiting, without a watch; all of it if the control has changed. */
    View glance(int wanted, Deadline deadline) {
        View known = known();
        if (known == null || !baseChecked || isOtherServer) {
            return rearm(wanted, deadline);
        }
        CommandBatch batch = new CommandBatch();
        View.Reading reading = reading(batch, View.Depth.WAIT, View.Watch.NONE, wanted);
        long sent = System.nanoTime();
        View read = reading.complete(known, present().ask(batch, deadline), sent);
        return read == null ? rearm(wanted, deadline) : keep(read);
    }

    /** Begins that watch and reads everything. */
    View read(View.Watch watch, int wanted, Deadline deadline) {
        RedisWire open = open(deadline);
        disarm();
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        View.Reading reading = reading(batch, View.Depth.ALL, watch, wanted);
        long sent = System.nanoTime();
        View read = keep(reading.parse(open.ask(batch, deadline), sent));
        Control control = read.control();
        if (control == null || baseChecked) {
            return read;
        }
        if (!server.isEmpty() && server.equals(control.server()) && control.base() >= highestBase) {
            baseChecked = true;
            return read;
        }
        return raise(read, wanted, deadline);
    }

    /**
     * This server is not the one that the base of the epochs was chosen at, or was a replica since, or does not say: its data may
     * be older than what was granted. That it was a replica shows only on a connection that was opened after it. Or this session comes from a server that was replaced and gave out higher epochs: in two
     * fail-overs in a row the last server may have got its base before the one between. A base by the time is above all epochs that
     * were ever granted, as there are fewer than 256 in a microsecond.
     */
    private View raise(View read, int wanted, Deadline deadline) {
        long base = Math.max(highestBase, read.serverMicros() << 8);
        CommandBatch batch = new CommandBatch().multi();
        batch.add(
                RedisVerb.HSET,
                layout.control(),
                RedisLayout.BASE_FIELD,
                Long.toString(base),
                RedisLayout.SERVER_FIELD,
                server);
        batch.exec();
        baseChecked = commit(batch, deadline);
        return rearm(wanted, deadline);
    }

    /** Does a transaction under the watch; returns false if something that it watched was touched. No watch stands after it. */
    boolean commit(CommandBatch batch, Deadline deadline) {
        RedisWire open = watched();
        disarm();
        return open.ask(batch, deadline).committed();
    }

    /** Sends a step, and in the same write what reads as much as the depth says after it. */
    Answer commit(Step.Prepared prepared, Deadline deadline) {
        RedisWire open = prepared.step().isBare() ? open(deadline) : watched();
        View expected = expectedAfter(prepared.step());
        view = null;
        long sent = System.nanoTime();
        return answer(prepared, open.ask(prepared.batch(), deadline), expected, sent);
    }

    /** The same, without waiting: what returns the answer or throws comes on a thread that must not wait. */
    void send(Step.Prepared prepared, Consumer<Supplier<Answer>> then) {
        RedisWire open = prepared.step().isBare() ? present() : watched();
        View expected = expectedAfter(prepared.step());
        view = null;
        long sent = System.nanoTime();
        open.send(prepared.batch(), replies -> then.accept(() -> answer(prepared, replies.get(), expected, sent)));
    }

    private static Answer answer(Step.Prepared prepared, Replies replies, View expected, long sentNanos) {
        return new Answer(prepared, replies, expected, prepared.step().isBare() || replies.executed(), sentNanos);
    }

    /** A bare step leaves the watch as it is, so a watch that has ended before must not count as standing after it. */
    private View expectedAfter(Step step) {
        View known = known();
        boolean stands = known != null && known.watched();
        return (stands ? lastKnown : lastKnown.unwatched()).after(step);
    }

    /** What is read after a step. */
    View.Reading reading(CommandBatch batch, View.Depth depth, View.Watch watch, int wanted) {
        return View.Reading.add(batch, layout, liveness.client(), depth, watch, lastKnown.control(), wanted);
    }

    /** The connection on which the watch stands: on any other the transaction would be done unconditionally. */
    private RedisWire watched() {
        View known = known();
        if (known == null || !known.watched()) {
            throw new MovedException(layout.what() + ": the watch is lost with its connection");
        }
        return present();
    }

    private RedisWire present() {
        RedisWire open = wire;
        if (open == null || !open.isOpen()) {
            throw new MovedException(layout.what() + ": the connection is lost");
        }
        return open;
    }

    private View keep(View read) {
        if (isNewServer) {
            liveness.clock().restart(read.sentNanos(), read.base().heardNanos(), read.serverMicros());
            isNewServer = false;
        } else {
            liveness.clock().read(read.sentNanos(), read.base().heardNanos(), read.serverMicros());
        }
        Control control = read.control();
        if (control != null) {
            highestBase = Math.max(highestBase, control.base());
        }
        Set<Integer> mine = read.mine();
        if (mine != null) {
            liveness.ledger().seen(mine);
        }
        return remember(read);
    }

    private View remember(View known) {
        view = known;
        lastKnown = known;
        return known;
    }

    /** Clients in the queue have heard of a slot, and may not wait any more. */
    void queueMoves() {
        View known = view;
        if (known != null) {
            remember(known.withOldQueue());
        }
    }

    /** Whether the server is another one than before, which nobody has dealt with yet. */
    boolean isOtherServer() {
        return isOtherServer;
    }

    /** What the other server may lack was looked for. */
    void knowServer() {
        isOtherServer = false;
    }

    /** Throws if there is no semaphore, but something else under its key. */
    void refuseForeign(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int all = Control.readAll(batch, layout);
        if (Control.isForeign(ask(batch, deadline).get(all))) {
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

    /** Lends the connection to code that watches something else. */
    RedisWire forOther(Deadline deadline) {
        disarm();
        return open(deadline);
    }

    /** Ends the watch: every watch makes the transactions of all others a little slower. Does not wait. */
    void rest() {
        View known = known();
        if (known != null && known.watched()) {
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.UNWATCH);
            tell(batch);
            view = known.unwatched();
        }
    }

    /** What is known may not be true any more. */
    void disarm() {
        view = null;
        ahead = null;
    }

    /** Nothing is known for sure: the next call begins on a new connection. */
    void drop() {
        disarm();
        RedisWire open = wire;
        if (open != null) {
            open.close();
        }
    }

    /** The connection that was opened last, closed or not; null if none was. */
    @Nullable
    RedisWire last() {
        return wire;
    }

    /**
     * Sees to it that nothing is done any more that was sent on other connections. Those of which that is certain are taken from the
     * collection: each costs a request, and they may become many before all else succeeds.
     *
     * @return false if it is not certain of all
     */
    boolean outlive(Collection<RedisWire> others, Deadline deadline) {
        RedisWire open = open(deadline);
        others.removeIf(other -> other == open || open.outlive(other, deadline));
        return others.isEmpty();
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
        disarm();
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
        server = open.history();
        boolean changed = !server.equals(before);
        isNewServer |= changed;
        isOtherServer |= changed && !before.isEmpty();
        return open;
    }
}
