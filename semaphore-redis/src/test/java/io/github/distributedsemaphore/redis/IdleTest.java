package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A watch that nobody needs ends, because it makes the transactions of all others slower. */
class IdleTest {
    private static final Duration LONGER_THAN_IDLE = Duration.ofSeconds(20);

    private Redis redis;
    private Set<String> before;
    private BackendSession session;

    @BeforeEach
    void open() {
        redis = new Redis();
        before = clients().keySet();
        session = redis.session("jobs");
        redis.backend().admin().create("jobs", 3);
    }

    @AfterEach
    void close() {
        redis.close();
    }

    /** The connections to the server with their flags, {@code d} for one whose watched key was touched. */
    private Map<String, String> clients() {
        return redis.commands()
                .clientList()
                .lines()
                .collect(
                        Collectors.toMap(line -> field(line, "id"), line -> field(line, "flags"), (one, other) -> one));
    }

    private static String field(String line, String name) {
        return line.replaceFirst("(^|.* )" + name + "=(\\S*).*", "$2");
    }

    private boolean isAnyWatchTouched() {
        redis.commands().hincrby(redis.layout("jobs").control(), RedisLayout.CHANGES_FIELD, 1);
        Map<String, String> now = clients();
        return now.keySet().stream()
                .filter(id -> !before.contains(id))
                .map((Function<String, String>) now::get)
                .anyMatch(flags -> flags.contains("d"));
    }

    @Test
    void aSessionWithoutHoldsEndsItsWatchAfterAWhileAndWorksOn() {
        giveBack(session, takeOne(session));
        assertThat(isAnyWatchTouched()).isTrue();
        await().atMost(LONGER_THAN_IDLE).until(() -> !isAnyWatchTouched());

        Hold hold = takeOne(session);
        assertThat(isAnyWatchTouched()).isTrue();
        assertThat(giveBack(session, hold).lost()).isEmpty();
    }

    /** While a session rests no look is planned, and a look is what ends a wait for a reply. */
    @Test
    void anExchangeAfterARestDoesNotWaitForEver() {
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri("timeout=1s").replace(RedisServer.address(), relay.uri());
            SemaphoreBackend behind = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("behind")));
            BackendSession resting = behind.open("jobs", new Redis.Ear());
            giveBack(resting, takeOne(resting));
            assertThat(isAnyWatchTouched()).isTrue();
            await().atMost(LONGER_THAN_IDLE).until(() -> !isAnyWatchTouched());

            relay.loseReplies();
            ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, false);
            // The end of the watch may not be quite over here.
            CompletableFuture<?> exchange = await().until(() -> resting.start(request), Objects::nonNull)
                    .toCompletableFuture();
            await().atMost(LONGER_THAN_IDLE).until(exchange::isCompletedExceptionally);
            resting.abort();
        }
    }
}
