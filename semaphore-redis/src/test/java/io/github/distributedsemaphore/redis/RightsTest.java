package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The least rights that docs/backends/redis.md lists: enough, and none too many. */
class RightsTest {
    private static final Pattern RIGHT = Pattern.compile("\\+[a-z]+");

    /** What every client library says, whether it may or not, and what the test itself asks. */
    private static final Set<String> OTHERS = Set.of("auth", "hello", "client", "config", "acl");

    private RedisServer server;
    private Redis redis;

    @BeforeEach
    void open() {
        server = RedisServer.start();
        redis = new Redis(server.uri());
    }

    @AfterEach
    void close() {
        redis.close();
        server.close();
    }

    /** The rights as they are documented, for ACL SETUSER. */
    static String documented() {
        try {
            String all = Files.readString(Path.of("..", "docs", "backends", "redis.md"));
            String from = all.substring(all.indexOf("ACL SETUSER app"));
            return RIGHT.matcher(from.substring(0, from.indexOf("```")))
                    .results()
                    .map(found -> found.group())
                    .collect(Collectors.joining(" "));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void allow(String user, String rights) {
        String keys = " ~{" + redis.prefix() + "* resetchannels &{" + redis.prefix() + "* ";
        assertThat(server.say("ACL SETUSER " + user + " on >pw -@all" + keys + rights))
                .isEqualTo("+OK");
    }

    private SemaphoreBackend as(String user, String database, String... settings) {
        String[] address = redis.uri(settings).split("[?]");
        String uri = address[0].replace("redis://", "redis://" + user + ":pw@") + database + "?" + address[1];
        return redis.track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test")));
    }

    private BackendSession session(SemaphoreBackend backend, String name) {
        return redis.session(backend, name, new Redis.Ear());
    }

    /** The commands that the server has done since its counts were cleared. */
    private Set<String> done() {
        return server.bulk("INFO commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_") && !line.contains(":calls=0,"))
                .map(line -> line.substring("cmdstat_".length()).split("[:|]")[0])
                .filter(command -> !OTHERS.contains(command))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void theRightsThatAreDocumentedAreEnoughAndAllAreNeeded() {
        String rights = documented();
        allow("least", rights);
        assertThat(server.say("CONFIG RESETSTAT")).isEqualTo("+OK");
        SemaphoreBackend backend = as("least", "", "detection=1s");
        everythingIsDone(backend, as("least", "", "detection=1s"));

        Set<String> listed = new TreeSet<>(List.of(rights.replace("+", "").split(" ")));
        await().untilAsserted(() -> assertThat(done()).isEqualTo(listed));
    }

    private void everythingIsDone(SemaphoreBackend backend, SemaphoreBackend other) {
        backend.ping();
        backend.admin().create("jobs", 2);
        BackendSession session = session(backend, "jobs");
        Hold hold = takeHolds(session, 2).get(0);
        BackendSession waiting = session(other, "jobs");
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        AtomicInteger hints = new AtomicInteger();
        BackendSession.Watch watch = waiting.watch(hints::incrementAndGet);
        assertThat(session.renew(List.of(hold)).lost()).isEmpty();
        giveBack(session, hold);
        await().until(() -> hints.get() > 0);
        Hold taken = takeOne(waiting);
        assertThat(waiting.check(taken)).isEqualTo(HoldState.HELD);
        watch.close();
        waiting.abort();
        await().until(() -> take(session, 1) instanceof Answer.Granted);
        backend.admin().resize("jobs", 1);
        assertThat(backend.admin().describe("jobs")).isPresent();
        assertThat(backend.admin().retiredHolders("jobs")).isEqualTo(1);
        assertThat(backend.admin().names()).containsExactly("jobs");
        assertThat(backend.admin().destroy("jobs")).isTrue();
        session.renew(List.of());
        backend.admin().create("jobs", 2);
        session.close();
        backend.admin().create("many", 100);
        BackendSession many = session(backend, "many");
        Hold one = takeOne(many);
        assertThat(take(many, 100)).isEqualTo(Answer.FULL);
        ExchangeRequest again = new ExchangeRequest(List.of(one), List.of(1), 1, false);
        assertThat(many.exchange(again).lost()).isEmpty();
        many.resolve(again);
        assertThat(take(session(backend, "nowhere"), 1)).isEqualTo(Answer.MISSING);
    }

    /** Or else what follows MULTI in the same write would be done without a transaction. */
    @ParameterizedTest
    @ValueSource(strings = {"multi", "exec"})
    void withoutTheRightToTransactionsNothingIsDone(String right) {
        redis.backend().admin().create("jobs", 2);
        allow("bare", documented().replace("+" + right + " ", ""));
        SemaphoreBackend backend = as("bare", "");
        BackendSession session = session(backend, "jobs");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining(right);
        assertThatThrownBy(() -> backend.admin().create("more", 2)).isInstanceOf(BackendAccessException.class);
        assertThat(redis.held("jobs")).isZero();
        assertThat(redis.commands().exists(redis.layout("more").control())).isZero();
    }

    /** Or else transactions would be done unconditionally. */
    @Test
    void withoutTheRightToWatchNothingIsDone() {
        redis.backend().admin().create("jobs", 3);
        allow("blind", documented().replace("+watch ", ""));
        SemaphoreBackend backend = as("blind", "");
        BackendSession session = session(backend, "jobs");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("watch");
        assertThatThrownBy(() -> backend.admin().create("more", 2)).isInstanceOf(BackendAccessException.class);
        assertThatThrownBy(() -> backend.admin().resize("jobs", 2)).isInstanceOf(BackendAccessException.class);
        assertThatThrownBy(() -> backend.admin().destroy("jobs")).isInstanceOf(BackendAccessException.class);
        assertThat(redis.held("jobs")).isZero();
    }

    @Test
    void whenTheRightToWatchIsTakenAwayMeanwhileNoLimitIsExceeded() {
        SemaphoreBackend others = redis.backend();
        others.admin().create("jobs", 3);
        allow("blind", documented());
        BackendSession session = session(as("blind", ""), "jobs");
        Hold kept = takeOne(session);
        assertThat(server.say("ACL SETUSER blind -watch")).isEqualTo("+OK");
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendAccessException.class);
        }
        others.admin().resize("jobs", 1);
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendAccessException.class);
        allow("blind", documented());
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
        await().untilAsserted(() -> assertThat(redis.held("jobs")).isEqualTo(1));
        assertThat(session.check(kept)).isEqualTo(HoldState.HELD);
    }

    @Test
    void whenTheRightToTransactionsIsTakenAwayMeanwhileItIsFoundOutWhatWasDone() {
        redis.backend().admin().create("jobs", 2);
        allow("bare", documented());
        BackendSession session = session(as("bare", ""), "jobs");
        Hold kept = takeOne(session);
        assertThat(server.say("ACL SETUSER bare -multi")).isEqualTo("+OK");
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, false);
        assertThatThrownBy(() -> session.exchange(one)).isInstanceOf(OutcomeUnknownException.class);
        assertThatThrownBy(() -> session.resolve(one)).isInstanceOf(BackendAccessException.class);
        allow("bare", documented());
        Answer found = session.resolve(one).answers().get(0);
        int taken = found instanceof Answer.Granted granted ? granted.holds().size() : 0;
        assertThat(redis.held("jobs")).as("slots that somebody knows to have").isEqualTo(1L + taken);
        assertThat(giveBack(session, kept).lost()).isEmpty();
    }

    @Test
    void whenTheRightToEndTransactionsIsTakenAwayMeanwhileNothingIsDone() {
        redis.backend().admin().create("jobs", 2);
        allow("bare", documented());
        BackendSession session = session(as("bare", ""), "jobs");
        Hold kept = takeOne(session);
        assertThat(server.say("ACL SETUSER bare -exec")).isEqualTo("+OK");
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendAccessException.class);
        assertThat(redis.held("jobs")).isEqualTo(1);
        allow("bare", documented());
        assertThat(giveBack(session, kept).lost()).isEmpty();
    }

    /** Or else the server would forget a holder that believes in its permit, and grant its slot anew. */
    @Test
    void aRenewalThatDoesNotPutOffTheEndOfWhatWasDestroyedDoesNotCount() {
        allow("bare", documented());
        SemaphoreBackend backend = as("bare", "", "detection=1m");
        backend.admin().create("jobs", 2);
        BackendSession session = session(backend, "jobs");
        Hold hold = takeOne(session);
        backend.admin().destroy("jobs");
        assertThat(server.say("ACL SETUSER bare -pexpireat")).isEqualTo("+OK");

        assertThatThrownBy(() -> session.renew(List.of(hold)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("'jobs'");
        allow("bare", documented());
        Renewal renewal = session.renew(List.of(hold));
        assertThat(renewal.retired()).containsExactly(hold);
        redis.keys()
                .forEach(key -> assertThat(Duration.ofMillis(redis.commands().pttl(key)))
                        .as(key)
                        .isGreaterThan(renewal.validUntil().remaining()));
    }

    @Test
    void aPasswordWhereThereIsNoneIsRefused() {
        String uri = redis.uri().replace("redis://", "redis://:secret@");
        SemaphoreBackend backend =
                redis.track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test")));
        assertThatThrownBy(backend::ping).isInstanceOf(BackendAccessException.class);
    }

    @Test
    void aDatabaseNeedsOneMore() {
        allow("least", documented());
        assertThatThrownBy(() -> as("least", "/1").ping()).isInstanceOf(BackendAccessException.class);
        allow("least", documented() + " +select");
        assertThat(as("least", "/1").admin().create("jobs", 1)).isTrue();
    }

    @Test
    void theConfirmationOfReplicasNeedsOneMore() {
        allow("least", documented());
        SemaphoreBackend backend = as("least", "", "minReplicas=1");
        assertThatThrownBy(() -> backend.admin().create("jobs", 1))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("wait");
        assertThat(as("least", "").admin().create("jobs", 1))
                .as("nothing was made")
                .isTrue();
        BackendSession session = session(backend, "jobs");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("wait");
        allow("least", documented() + " +wait");
        assertThatThrownBy(() -> take(session, 1)).hasMessageContaining("replica");
    }
}
