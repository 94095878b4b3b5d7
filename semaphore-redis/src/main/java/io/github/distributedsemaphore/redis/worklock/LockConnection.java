package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.SemaphoreException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.SetArgs;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection for one look at one key, used by one thread and then closed, which also ends its watch. */
final class LockConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LockConnection.class);
    private static final Duration CALL = Duration.ofSeconds(2);

    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final String key;
    private final String what;

    LockConnection(StatefulRedisConnection<String, String> connection, String key, String what) {
        this.connection = connection;
        this.commands = connection.async();
        this.key = key;
        this.what = what;
    }

    /**
     * The key at a moment.
     *
     * @param value what it held
     * @param expires whether it had an end
     */
    record Sight(LockValue value, boolean expires) {}

    /** Writes the first attempt, unless the key exists: SETNX, in the form that is not deprecated. */
    boolean begin() {
        return await(commands.set(key, "1", SetArgs.Builder.nx()), true) != null;
    }

    /** Reads the key. What is changed afterwards is changed only if the key is still the same. */
    Sight watch() {
        Future<String> watching = commands.watch(key);
        Future<String> value = commands.get(key);
        Future<Long> millisLeft = commands.pttl(key);
        require(watching, false);
        LockValue read = LockValue.of(await(value, false));
        return new Sight(read, require(millisLeft, false) >= 0);
    }

    /** Writes an attempt; false if the key was touched since {@link #watch}. */
    boolean replace(long attempt) {
        return transaction(queued -> queued.set(key, Long.toString(attempt)));
    }

    /** Marks the job as finished; false if the key was touched since {@link #watch}. */
    boolean replaceByDone(Duration retention) {
        return transaction(queued -> queued.set(key, LockValue.DONE, SetArgs.Builder.px(retention)));
    }

    /** Gives the key an end; false if it was touched since {@link #watch}. */
    boolean expire(Duration after) {
        return transaction(queued -> queued.pexpire(key, after));
    }

    private boolean transaction(Function<RedisAsyncCommands<String, String>, RedisFuture<?>> change) {
        // Alone: if MULTI were refused, what follows in the same write would be done without a transaction.
        require(commands.multi(), false);
        RedisFuture<?> queued = change.apply(commands);
        RedisFuture<TransactionResult> executed = commands.exec();
        TransactionResult result = executed(executed, queued);
        if (result.wasDiscarded()) {
            return false;
        }
        for (Object reply : result) {
            if (reply instanceof Exception failed) {
                throw ServerFailures.of(what, failed, false);
            }
        }
        return true;
    }

    private TransactionResult executed(RedisFuture<TransactionResult> executed, RedisFuture<?> queued) {
        try {
            return require(executed, true);
        } catch (SemaphoreException e) {
            // EXEC only says that something before it was refused; what was, says why.
            Throwable refusal = queued.handle((reply, failure) -> failure)
                    .toCompletableFuture()
                    .getNow(null);
            throw refusal instanceof RedisCommandExecutionException ? ServerFailures.of(what, refusal, false) : e;
        }
    }

    /**
     * Marks the job as finished, whatever the key holds. This may be repeated.
     *
     * @return what the key held before
     */
    LockValue finish(Duration retention) {
        return LockValue.of(await(commands.setGet(key, LockValue.DONE, SetArgs.Builder.px(retention)), true));
    }

    private <T> T require(Future<T> reply, boolean changes) {
        T value = await(reply, changes);
        if (value == null) {
            throw new IllegalStateException(what + ": an answer that Redis does not give");
        }
        return value;
    }

    /** Null if Redis answers nil. */
    private <T> @Nullable T await(Future<T> reply, boolean changes) {
        try {
            return Waits.uninterrupted(reply, CALL);
        } catch (ExecutionException | TimeoutException | CancellationException e) {
            throw ServerFailures.of(what, e, changes);
        }
    }

    @Override
    public void close() {
        try {
            Waits.uninterrupted(connection.closeAsync(), CALL);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("A connection was not closed in order", e);
        }
    }
}
