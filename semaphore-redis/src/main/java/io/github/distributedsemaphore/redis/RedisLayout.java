package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one semaphore, the note beside a held slot, and what a client says of itself. All keys begin with the same hash
 * tag, {@code {prefix:name}}, so that a cluster keeps them in one slot; what kind of key it is stands behind the tag. The kind has
 * no brace in it, so no two names share a key whatever they contain.
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

    /** The server that {@link #BASE_FIELD} was chosen at: {@code run id:replication id}. Of these the second changes when it becomes a master, or has its first replica. */
    static final String SERVER_FIELD = "server";

    /** Incremented only to touch the key. */
    static final String CHANGES_FIELD = "changes";

    /** The field of {@link #notesOf} in which a client describes itself. */
    static final String SELF_FIELD = "self";

    /** The longest name in bytes: keys can be longer, people who look at them cannot. */
    static final int MAX_NAME_BYTES = 1_000;

    /**
     * What is stored beside a held slot: {@code run:base:since:first}. It is written in the transaction that moves the slot.
     *
     * <p>An epoch is {@code base} plus a count per slot. The count rises by {@code run} in the transaction that moves the slot to
     * its holder, so epochs rise in the order of the grants. The base rises above everything that can have been granted whenever
     * the counts may have gone back: when the semaphore is created, and when a client finds another server than before.
     *
     * @param run how many epochs were reserved with the hold
     * @param base what its epochs are counted from
     * @param sinceMillis when it was taken, by the wall clock of the client that wrote this, in milliseconds since 1970
     * @param first the first epoch; -1 if the count of the slot says it
     */
    record HoldNote(int run, long base, long sinceMillis, long first) {
        static final long BY_COUNT = -1;

        private static final int PARTS = 4;

        /** Returns null if the text has another form. */
        static @Nullable HoldNote parse(@Nullable String stored) {
            String[] parts = stored == null ? new String[0] : stored.split(":", -1);
            if (parts.length != PARTS) {
                return null;
            }
            try {
                int run = Integer.parseInt(parts[0]);
                long first = parts[3].isEmpty() ? BY_COUNT : Long.parseLong(parts[3]);
                return run < 1 ? null : new HoldNote(run, Long.parseLong(parts[1]), Long.parseLong(parts[2]), first);
            } catch (NumberFormatException e) {
                return null;
            }
        }

        /**
         * The first epoch of the hold.
         *
         * @param count the count of the slot after the hold was taken, or a later one: that is no epoch of anybody else either
         */
        long firstEpoch(long count) {
            return first != BY_COUNT ? first : Math.max(0, base + count - run + 1);
        }

        Hold hold(int slot, long count) {
            long epoch = firstEpoch(count);
            return new Hold(slot, epoch, epoch + run - 1);
        }

        @Override
        public String toString() {
            return run + ":" + base + ":" + sinceMillis + ":" + (first == BY_COUNT ? "" : first);
        }
    }

    /** What a client says of itself, for people: {@code pid host label}. */
    record MemberInfo(long pid, String host, String label) {
        static final MemberInfo UNKNOWN = new MemberInfo(0, "", "");

        static String write(HolderInfo self) {
            return self.pid() + " " + self.host().replace(' ', '_') + " " + self.label();
        }

        static MemberInfo parse(String stored) {
            String[] parts = stored.split(" ", 3);
            long pid = Reply.digits(parts[0]);
            return parts.length < 3 || pid < 0 ? UNKNOWN : new MemberInfo(pid, parts[1], parts[2]);
        }
    }

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
