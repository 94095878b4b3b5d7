package io.github.distributedsemaphore.redis.net;

import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;

/**
 * The commands that this adapter sends. Where Lettuce keeps the books of a transaction, it sees the one command that stands for a whole
 * {@link CommandBatch}, and no MULTI or EXEC.
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
}
