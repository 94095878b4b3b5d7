package io.github.distributedsemaphore.redis;

import java.util.List;

/**
 * The keys of one semaphore. All begin with the same hash tag, {@code {prefix:name}}, so that a cluster keeps them in one
 * slot; what kind of key it is stands behind the tag. The kind has no brace in it, so no two names share a key whatever
 * they contain.
 *
 * <p>{@link #control} is what everybody WATCHes, and is written only when a decision made under it must not come true any
 * more. Every other key changes all the time.
 */
final class RedisLayout {
    /** The version of this layout; another one is refused. */
    static final String FORMAT = "1";

    /** Fields of {@link #control}. */
    static final String FORMAT_FIELD = "format";

    static final String LIMIT_FIELD = "limit";

    /** Epochs of all slots are counted from here; see {@link HoldValue}. */
    static final String BASE_FIELD = "base";

    /** The run id of the server that {@link #BASE_FIELD} was chosen at. */
    static final String SERVER_FIELD = "server";

    /** Incremented only to touch the key. */
    static final String CHANGES_FIELD = "changes";

    /** The longest name in bytes: keys can be longer, people who look at them cannot. */
    static final int MAX_NAME_BYTES = 1_000;

    private final String name;
    private final String tag;

    RedisLayout(String prefix, String name) {
        this.name = name;
        this.tag = "{" + prefix + ":" + name + "}";
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
        return tag + ":c";
    }

    /** Hash: slot to {@link HoldValue}. */
    String holds() {
        return tag + ":h";
    }

    /** Hash: slot to the number of epochs given out for it. */
    String epochs() {
        return tag + ":e";
    }

    /** Sorted set: client to its deadline in milliseconds of the server's time. Whoever is not in it holds nothing. */
    String lives() {
        return tag + ":l";
    }

    /** Hash: client to what it says of itself. */
    String members() {
        return tag + ":m";
    }

    /** Sorted set: client to the time since which it waits, in microseconds of the server's time. */
    String waiters() {
        return tag + ":w";
    }

    /** The keys that outlive the control as long as somebody holds a slot. */
    List<String> keysOfHolders() {
        return List.of(holds(), epochs(), lives(), members());
    }

    /** The channel on which a client is told of a slot that is free. */
    String channelOf(String client) {
        return tag + ":n:" + HoldValue.sessionOf(client);
    }

    /** The channel on which all waiters are told that something changed. */
    String channelOfAll() {
        return tag + ":n";
    }
}
