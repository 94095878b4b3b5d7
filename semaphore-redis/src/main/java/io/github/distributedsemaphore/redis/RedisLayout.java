package io.github.distributedsemaphore.redis;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

/**
 * The keys of one semaphore. All begin with the same hash tag, {@code {prefix:name}}, so that a cluster keeps them in one
 * slot; what kind of key it is stands behind the tag. The kind has no brace in it, so no two names share a key whatever
 * they contain.
 *
 * <p>Each slot is a member of exactly one set: of {@link #free}, or of the set {@link #heldBy} of one client. {@link #control}
 * is the key that every transaction watches. It is written only when a decision that was made under it must not come true any
 * more.
 */
final class RedisLayout {
    /** The version of this layout; another one is refused. */
    static final String FORMAT = "2";

    /** The version before, which kept all holds in one hash. */
    static final String FORMER_FORMAT = "1";

    /** Fields of {@link #control}. */
    static final String FORMAT_FIELD = "format";

    static final String LIMIT_FIELD = "limit";

    /** The highest slot that is in a set; more than the limit after a shrink. */
    static final String SLOTS_FIELD = "slots";

    /** Epochs of all slots are counted from here; see {@link HoldNote}. */
    static final String BASE_FIELD = "base";

    /** The run id of the server that {@link #BASE_FIELD} was chosen at. */
    static final String SERVER_FIELD = "server";

    /** Incremented only to touch the key. */
    static final String CHANGES_FIELD = "changes";

    /** The field of {@link #notesOf} in which a client describes itself. */
    static final String SELF_FIELD = "self";

    /** The longest name in bytes: keys can be longer, people who look at them cannot. */
    static final int MAX_NAME_BYTES = 1_000;

    private final String name;
    private final String tag;
    private final String control;
    private final String free;
    private final String epochs;
    private final String lives;
    private final String waiters;

    RedisLayout(String prefix, String name) {
        this.name = name;
        this.tag = "{" + prefix + ":" + name + "}";
        this.control = tag + ":c";
        this.free = tag + ":f";
        this.epochs = tag + ":e";
        this.lives = tag + ":l";
        this.waiters = tag + ":w";
    }

    /** The set of the names of all semaphores; for listing only. */
    static String names(String prefix) {
        return "{" + prefix + "}:names";
    }

    String name() {
        return name;
    }

    /** For messages. */
    String what() {
        return "Semaphore '" + name + "'";
    }

    /** Hash: the limit, and what else decisions depend on. */
    String control() {
        return control;
    }

    /** Set: the slots that nobody holds. */
    String free() {
        return free;
    }

    /** Set: the slots that a client holds. Only a client in {@link #lives} has one. */
    String heldBy(String client) {
        return tag + ":h:" + client;
    }

    /** Hash: {@link #SELF_FIELD}, and slot to {@link HoldNote}; for those in {@link #heldBy} only that is of interest. */
    String notesOf(String client) {
        return tag + ":d:" + client;
    }

    /** String: its deadline, written by each renewal. {@link #lives} has it too, but is written by all clients. */
    String renewalOf(String client) {
        return tag + ":r:" + client;
    }

    /** Hash: slot to the number of epochs given out for it. */
    String epochs() {
        return epochs;
    }

    /** Sorted set: client to its deadline in milliseconds of the server's time. A client that is not in it holds nothing. */
    String lives() {
        return lives;
    }

    /**
     * Sorted set: client to twice the time since which it waits, in microseconds of the server's time; plus one if it is
     * not to be given a slot, because the first of its callers wants several permits, or because it does not listen yet.
     */
    String waiters() {
        return waiters;
    }

    /** The keys of {@link #FORMER_FORMAT} that have no counterpart. */
    List<String> formerKeys() {
        return List.of(tag + ":h", tag + ":m");
    }

    /** The keys of a client. */
    Stream<String> keysOf(String client) {
        return Stream.of(heldBy(client), notesOf(client), renewalOf(client));
    }

    /** The keys that outlive the control as long as one of these clients holds a slot. */
    List<String> keysOfHolders(Collection<String> clients) {
        List<String> keys = new ArrayList<>(List.of(free(), epochs(), lives()));
        clients.stream().flatMap(this::keysOf).forEach(keys::add);
        return keys;
    }

    /** The channel of a client: an {@link Ledger.Offer}, or a hint that something is free. It stays when the client takes another name. */
    String channelOf(String client) {
        int dot = client.indexOf('.');
        return tag + ":n:" + (dot < 0 ? client : client.substring(0, dot));
    }

    /** The channel on which all that wait hear that something changed. */
    String channelOfAll() {
        return tag + ":n";
    }
}
