package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisErrorException;
import io.github.distributedsemaphore.redis.net.RedisFailures;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.WireException;
import java.time.Duration;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A connection for one look at one key, used by one thread and then closed, which also ends its watch. */
final class LockConnection implements AutoCloseable {
    /**
     * What the key holds.
     *
     * @param kind what it means
     * @param attempt the number of the attempt; zero if it is none
     * @param text as it is stored; empty if the key is absent
     */
    record Value(Kind kind, long attempt, String text) {
        static final String DONE = "DONE";

        /** What the Node package leaves when it counts on from DONE. */
        static final String NOT_A_NUMBER = "NaN";

        /** As its workers write it. What is longer would be no exact number to them. */
        private static final Pattern NUMBER = Pattern.compile("[1-9]\\d{0,14}");

        enum Kind {
            ABSENT,
            ATTEMPT,
            DONE,
            NOT_A_NUMBER,
            FOREIGN
        }

        static Value of(@Nullable String text) {
            if (text == null) {
                return new Value(Kind.ABSENT, 0, "");
            } else if (NUMBER.matcher(text).matches()) {
                return new Value(Kind.ATTEMPT, Long.parseLong(text), text);
            } else if (text.equals(DONE)) {
                return new Value(Kind.DONE, 0, text);
            } else if (text.equals(NOT_A_NUMBER)) {
                return new Value(Kind.NOT_A_NUMBER, 0, text);
            }
            return new Value(Kind.FOREIGN, 0, text);
        }
    }

    private final RedisWire wire;
    private final String key;
    private final String what;

    LockConnection(RedisWire wire, String key, String what) {
        this.wire = wire;
        this.key = key;
        this.what = what;
    }

    /**
     * The key at a moment.
     *
     * @param value what it held
     * @param expires whether it had an end
     */
    record Sight(Value value, boolean expires) {}

    /** Writes the first attempt, unless the key exists: SETNX, in the form that is not deprecated. */
    boolean begin() {
        CommandBatch batch = new CommandBatch();
        int set = batch.add(RedisVerb.SET, key, "1", "NX");
        batch.moves();
        return ask(batch, replies -> !replies.get(set).isNil());
    }

    /** Reads the key. What is changed afterwards is changed only if the key is still the same. */
    Sight watch() {
        CommandBatch batch = new CommandBatch();
        int watching = batch.add(RedisVerb.WATCH, key);
        int value = batch.add(RedisVerb.GET, key);
        int millisLeft = batch.add(RedisVerb.PTTL, key);
        return ask(batch, replies -> {
            replies.get(watching);
            Value read = Value.of(replies.get(value).textOrNull());
            return new Sight(read, replies.get(millisLeft).number() >= 0);
        });
    }

    /** Writes an attempt; false if the key was touched since {@link #watch}. */
    boolean replace(long attempt) {
        return transaction(RedisVerb.SET, key, Long.toString(attempt));
    }

    /** Marks the job as finished; false if the key was touched since {@link #watch}. */
    boolean replaceByDone(Duration retention) {
        return transaction(RedisVerb.SET, key, Value.DONE, "PX", millis(retention));
    }

    /** Gives the key an end; false if it was touched since {@link #watch}. */
    boolean expire(Duration after) {
        return transaction(RedisVerb.PEXPIRE, key, millis(after));
    }

    private boolean transaction(RedisVerb change, String... arguments) {
        // Alone: if MULTI were refused, what follows in the same write would be done without a transaction.
        CommandBatch begin = new CommandBatch();
        int multi = begin.add(RedisVerb.MULTI);
        ask(begin, replies -> replies.get(multi));
        CommandBatch batch = new CommandBatch();
        batch.add(change, arguments);
        batch.exec();
        return ask(batch, Replies::committed);
    }

    /**
     * Marks the job as finished, whatever the key holds. This may be repeated.
     *
     * @return what the key held before
     */
    Value finish(Duration retention) {
        CommandBatch batch = new CommandBatch();
        int set = batch.add(RedisVerb.SET, key, Value.DONE, "PX", millis(retention), "GET");
        batch.moves();
        return ask(batch, replies -> Value.of(replies.get(set).textOrNull()));
    }

    private static String millis(Duration duration) {
        return Long.toString(duration.toMillis());
    }

    private <T> T ask(CommandBatch batch, Function<Replies, T> answer) {
        try {
            return answer.apply(wire.ask(batch, Deadline.NEVER));
        } catch (WireException | RedisErrorException e) {
            throw RedisFailures.of(what, e);
        }
    }

    @Override
    public void close() {
        wire.close();
    }
}
