package io.github.distributedsemaphore.redis.net;

import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * The commands that this adapter sends. A type of our own, in lower case, because Lettuce keeps the books of a transaction
 * when it sees its own MULTI and EXEC: that state belongs to the connection, is not guarded, and survives a broken link. We
 * send a transaction as one batch and read the raw replies.
 */
@SuppressWarnings(
        "deprecation") // ProtocolKeyword has a method name() of its own, deprecated, which every enum overrides.
public enum RedisVerb implements ProtocolKeyword {
    AUTH,
    /** No command of the server: it stands for all commands of a {@link CommandBatch} until they are written. */
    BATCH,
    CLIENT,
    CLUSTER,
    DEL,
    EXEC,
    EXISTS,
    GET,
    HGET,
    HGETALL,
    HINCRBY,
    HLEN,
    HMGET,
    HSET,
    INFO,
    MULTI,
    PERSIST,
    PEXPIRE,
    PEXPIREAT,
    PING,
    PTTL,
    PUBLISH,
    RENAME,
    SADD,
    SELECT,
    SENTINEL,
    SET,
    SISMEMBER,
    SMEMBERS,
    SMISMEMBER,
    SMOVE,
    SRANDMEMBER,
    SREM,
    SUNIONSTORE,
    TIME,
    UNWATCH,
    WAIT,
    WATCH,
    ZADD,
    ZCARD,
    ZRANGE,
    ZRANGEBYSCORE,
    ZREM,
    ZSCORE;

    @SuppressWarnings("ImmutableEnumChecker") // Nobody writes into it; made once because it is sent all the time.
    private final byte[] bytes = name().getBytes(StandardCharsets.US_ASCII);

    @Override
    public byte[] getBytes() {
        return bytes;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
