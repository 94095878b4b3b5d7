package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.ds.PGSimpleDataSource;

/** A pool of the application gets each connection back that it lends, also one that is broken. */
class DataSourceTest {
    private static final String ASKED =
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'counted' AND query = 'SELECT 1'";

    private static final String LISTENING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'counted'"
            + " AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')";

    private final PostgresServer server = PostgresServer.shared();
    private final AtomicInteger lent = new AtomicInteger();
    private boolean isGone;
    private volatile @Nullable SQLException atClose;
    private volatile @Nullable SQLException afterExecute;
    private volatile boolean isClosedFails;
    private final AtomicInteger refusals = new AtomicInteger();
    private volatile String refused = "";
    private volatile SQLException refusal = new SQLException("refused");

    private DataSource pool() {
        PGSimpleDataSource database = new PGSimpleDataSource();
        database.setServerNames(new String[] {"127.0.0.1"});
        database.setPortNumbers(new int[] {server.port()});
        database.setDatabaseName(PostgresServer.DATABASE);
        database.setUser(PostgresServer.USER);
        database.setPassword(PostgresServer.PASSWORD);
        database.setApplicationName("counted");
        return proxy(DataSource.class, database, () -> {});
    }

    /** Counts connections as a pool does: from when it lends one until that is closed, however it ended. */
    private <T> T proxy(Class<T> type, T target, Runnable whenClosed) {
        return type.cast(Proxy.newProxyInstance(
                DataSourceTest.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    String name = method.getName();
                    if (name.equals("hashCode")) {
                        return System.identityHashCode(self);
                    }
                    if (name.equals("equals")) {
                        return self == arguments[0];
                    }
                    if (name.equals("close")) {
                        whenClosed.run();
                    }
                    if (name.equals(refused) && refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                        throw refusal;
                    }
                    if (name.equals("isClosed") && isClosedFails) {
                        throw new SQLException("nobody knows", "HY000");
                    }
                    if (name.equals("getAutoCommit") && isGone) {
                        throw new SQLException("the connection is gone", "HY000");
                    }
                    try {
                        Object result = method.invoke(target, arguments);
                        if (name.equals("close") && target instanceof PreparedStatement && atClose != null) {
                            throw atClose;
                        }
                        if (name.equals("execute") && target instanceof PreparedStatement && afterExecute != null) {
                            throw afterExecute;
                        }
                        return name.equals("getConnection") && result instanceof Connection connection
                                ? lend(connection)
                                : wrapped(result, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    private Connection lend(Connection connection) {
        lent.incrementAndGet();
        AtomicInteger open = new AtomicInteger(1);
        return proxy(Connection.class, connection, () -> lent.addAndGet(-open.getAndSet(0)));
    }

    private @Nullable Object wrapped(@Nullable Object result, Object[] arguments) {
        if (result instanceof PreparedStatement statement
                && !arguments[0].toString().startsWith("SELECT")) {
            return proxy(PreparedStatement.class, statement, () -> {});
        }
        return result;
    }

    private SemaphoreClient client() {
        return SemaphoreClient.builder(JdbcSemaphores.over(pool(), "counted", Map.of("table", "counted")))
                .connect();
    }

    @Test
    void aBrokenConnectionThatListensGoesBack() throws Exception {
        try (SemaphoreClient client = client()) {
            client.admin().create("jobs", 1);
            Permit held = client.semaphore("jobs").acquire(Duration.ofSeconds(5));
            CompletableFuture<Permit> waiting = client.semaphore("jobs").acquireAsync();
            for (int i = 0; i < 3; i++) {
                List<String> listening = await().until(() -> server.query(LISTENING), found -> found.size() == 1);
                server.execute("SELECT pg_terminate_backend(" + listening.get(0) + ")");
                await().until(() -> !server.query(LISTENING).contains(listening.get(0)));
            }
            await().untilAsserted(() -> assertThat(lent).as("connections lent").hasValueLessThanOrEqualTo(1));
            held.close();
            waiting.join().close();
        }
        await().untilAsserted(() -> assertThat(lent).as("connections lent").hasValue(0));
        server.execute("DROP TABLE counted");
    }

    /** Only a request shows that a link is dead if nobody has closed it. */
    @Test
    void aConnectionThatListensIsAskedWhileItHearsNothing() throws InterruptedException {
        try (SemaphoreClient client = client()) {
            client.admin().create("jobs", 1);
            try (Permit held = client.semaphore("jobs").acquire()) {
                CompletableFuture<Permit> waiting = client.semaphore("jobs").acquireAsync();
                await("is asked").until(() -> !server.query(ASKED).isEmpty());
                assertThat(held.isValid()).isTrue();
                waiting.cancel(true);
            }
        }
        server.execute("DROP TABLE counted");
    }

    @Test
    void oneThatIsGoneGoesBack() {
        try (SemaphoreClient client = client()) {
            isGone = true;
            assertThatThrownBy(() -> client.admin().create("jobs", 1)).isInstanceOf(BackendUnavailableException.class);
            assertThat(lent).hasValue(0);
        }
    }

    /** MariaDB says so of too many connections or requests of a user, and of a database that is missing. */
    @ParameterizedTest
    @CsvSource({"getConnection, 1203", "getConnection, 1226", "getConnection, 1049", "prepareStatement, 1226"})
    void whatIsRefusedForAWhileSaysNothingOfTheTable(String call, int code) throws InterruptedException {
        try (SemaphoreClient client = client()) {
            client.admin().create("jobs", 1);
            assertIsTriedAgain(client, call, new SQLException("refused", "42000", code));
        } finally {
            server.execute("DROP TABLE IF EXISTS counted");
        }
    }

    private void assertIsTriedAgain(SemaphoreClient client, String call, SQLException failure)
            throws InterruptedException {
        refusal = failure;
        refused = call;
        refusals.set(Integer.MAX_VALUE);
        assertThatThrownBy(() -> client.semaphore("jobs").tryAcquire()).isInstanceOf(BackendUnavailableException.class);
        refusals.set(3);
        client.semaphore("jobs").acquire(Duration.ofSeconds(20)).close();
        assertThat(refusals).hasValue(0);
    }

    /** HikariCP has words of its own, the state of the driver and no number. */
    private static SQLException pooled(String message, int code) {
        SQLException drivers = new SQLNonTransientConnectionException(message, "08004", code);
        return new SQLTransientConnectionException("no connection is available", "08004", drivers);
    }

    /** MariaDB's driver, and PostgreSQL's. */
    @ParameterizedTest
    @CsvSource({"Too many connections, 1040", "The server does not support SSL., 0"})
    void whatAPoolIsRefusedForAWhileIsNoWrongPassword(String message, int code) throws InterruptedException {
        try (SemaphoreClient client = client()) {
            client.admin().create("jobs", 1);
            assertIsTriedAgain(client, "getConnection", pooled(message, code));
        } finally {
            server.execute("DROP TABLE IF EXISTS counted");
        }
    }

    @Test
    void thatAPoolHasNoPasswordIsToldInTheWordsOfTheDriver() {
        try (SemaphoreClient client = client()) {
            refusal = pooled("no password was provided", 0);
            refused = "getConnection";
            refusals.set(Integer.MAX_VALUE);
            assertThatThrownBy(() -> client.admin().create("jobs", 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("no password was provided");
        }
    }

    /** MariaDB's driver has connected to another host by itself, and does not know what became of the statement. */
    @Test
    void aChangeOfUnknownOutcomeIsToldAsSuchWhateverItsState() {
        try (SemaphoreClient client = client()) {
            client.admin().create("first", 1);
            afterExecute = new SQLTransientConnectionException("Driver has reconnect connection", "25S03");
            assertThatThrownBy(() -> client.admin().create("jobs", 1)).isInstanceOf(OutcomeUnknownException.class);
            afterExecute = null;
            assertThat(client.admin().describe("jobs")).isPresent();
            assertThat(lent).hasValue(0);
        } finally {
            server.execute("DROP TABLE IF EXISTS counted");
        }
    }

    /** Each client knows a row, and learns by a change that the table is gone. */
    @Test
    void aTableThatIsDroppedTakesItsSemaphoresAlong() throws InterruptedException {
        try (SemaphoreClient asks = client();
                SemaphoreClient releases = client();
                SemaphoreClient renews = client()) {
            asks.admin().create("jobs", 3);
            asks.semaphore("jobs").acquire().close();
            Permit released = releases.semaphore("jobs").acquire();
            Permit renewed = renews.semaphore("jobs").acquire();
            server.execute("DROP TABLE counted");

            assertThat(released.release()).isEqualTo(ReleaseOutcome.WAS_LOST);
            assertThatThrownBy(() -> asks.semaphore("jobs").tryAcquire()).isInstanceOf(NoSuchSemaphoreException.class);
            await("the next renewal tells").atMost(Duration.ofSeconds(6)).until(() -> !renewed.isValid());
            assertThat(renewed.verify()).isEqualTo(Verification.LOST);
        } finally {
            server.execute("DROP TABLE IF EXISTS counted");
        }
    }
}
