package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.util.List;

/** Users of a server: one with the rights that docs/backends/redis.md lists, and one who may look. */
final class RedisAccounts {
    private static final String PASSWORD = "planted-6c1f-password";
    private static final String WRONG = "planted-6c1f-mistaken";
    private static final String RIGHTS = "+watch +unwatch +multi +exec +hget +hmget +hgetall"
            + " +hlen +hset +hincrby +zadd +zcard +zrem +zscore +zrange +zrangebyscore +exists +del +rename +persist"
            + " +pexpireat +sadd +scard +set +srem +sismember +smembers +smismember +smove +srandmember +sunionstore"
            + " +publish +subscribe +unsubscribe +time +ping +info";
    private static final String RIGHTS_TO_LOOK =
            "+@read +@connection +@transaction +subscribe +unsubscribe +time +ping +info";

    private final RedisCommands<String, String> commands;
    private final String host;
    private final String settings;
    private final String worker;
    private final String looker;

    /** Makes the users. */
    RedisAccounts(RedisCommands<String, String> commands, String address, String prefix) {
        this.commands = commands;
        this.host = address.substring(address.indexOf("//") + 2);
        this.settings = "?detection=2s&prefix=" + prefix;
        this.worker = prefix + "-worker";
        this.looker = prefix + "-looker";
        allow(worker, prefix, RIGHTS);
        allow(looker, prefix, RIGHTS_TO_LOOK);
    }

    private void allow(String user, String prefix, String rights) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8)
                .add("SETUSER")
                .add(user)
                .add("on")
                .add(">" + PASSWORD)
                .add("~{" + prefix + "*")
                // Redis 6.2 allows all channels if this is not said.
                .add("resetchannels")
                .add("&{" + prefix + "*");
        for (String right : rights.split(" ")) {
            args.add(right);
        }
        commands.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), args);
    }

    Accounts accounts() {
        return new UriAccounts(
                uri(worker, PASSWORD), uri(worker, WRONG), uri(looker, PASSWORD), List.of(PASSWORD, WRONG));
    }

    private String uri(String user, String password) {
        return "redis://" + user + ":" + password + "@" + host + settings;
    }

    /** Removes the users. */
    void remove() {
        commands.aclDeluser(worker, looker);
    }
}
