package io.github.distributedsemaphore.redis;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.protocol.CommandType;
import org.junit.jupiter.api.AfterEach;

/** The same for a user who may not end connections: each session takes another name, which makes the transactions of all others fail. */
class UnknownOutcomeWithoutKillTest extends UnknownOutcomeTest {
    private static final String USER = "no-kill";

    @Override
    String as(Redis server, String uri) {
        AclSetuserArgs rights = AclSetuserArgs.Builder.on()
                .addPassword("pw")
                .allKeys()
                .allChannels()
                .allCommands()
                .removeCommand(CommandType.CLIENT);
        server.commands().aclSetuser(USER, rights);
        return uri.replace("redis://", "redis://" + USER + ":pw@");
    }

    @Override
    long mostTransactions() {
        return 12;
    }

    @AfterEach
    @Override
    void close() {
        redis.commands().aclDeluser(USER);
        super.close();
    }
}
