package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** A waiting client goes on receiving hints after its connection or its driver has failed. */
class PostgresHintsTest {
    private final List<String> heard = new CopyOnWriteArrayList<>();
    private final AtomicInteger statements = new AtomicInteger();
    private int failingStatement;
    /** Whether the server hears the command to listen, and breaks the connection at the next one. */
    private boolean breaks;

    private Duration timeout = Duration.ofSeconds(5);
    private boolean hangs;
    private final CountDownLatch aborted = new CountDownLatch(1);

    private <T> T proxy(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                PostgresHintsTest.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    return switch (method.getName()) {
                        case "hashCode" -> System.identityHashCode(self);
                        case "equals" -> self == arguments[0];
                        case "createStatement" -> {
                            if (statements.incrementAndGet() == failingStatement) {
                                throw new IllegalStateException("made by a test");
                            }
                            yield proxy(Statement.class);
                        }
                        case "execute" -> {
                            if (breaks && arguments[0].equals("SELECT 1")) {
                                throw new SQLException("the connection is broken", "08006");
                            }
                            yield false;
                        }
                        case "getAutoCommit" -> true;
                        case "abort" -> {
                            aborted.countDown();
                            yield null;
                        }
                        case "getNotifications" -> {
                            if (hangs) {
                                aborted.await();
                                throw new SQLException("the connection was aborted", "08006");
                            }
                            yield new PGNotification[0];
                        }
                        case "unwrap" -> {
                            if (breaks || hangs) {
                                yield proxy(PGConnection.class);
                            }
                            throw new SQLException("no notifications come in this test");
                        }
                        default -> null;
                    };
                }));
    }

    private PostgresHints hints(FailingThreads threads) {
        Connections connections = new Connections(() -> proxy(Connection.class), timeout, 1, "the test");
        return new PostgresHints(connections, "semaphores", threads);
    }

    @Test
    void listeningSurvivesADriverThatThrowsSomethingUnchecked() {
        failingStatement = 1;
        PostgresHints hints = hints(new FailingThreads(0));

        BackendSession.Watch watch = hints.watch("jobs", heard::add);

        await("listens").until(() -> heard.contains(CasStore.EVERYBODY));
        watch.close();
    }

    /** With a pause that doubles, the ninth attempt would come after seven seconds. */
    @Test
    void aConnectionThatBreaksAfterItWasHeardIsReplacedSoonHoweverOftenThatWasBefore() {
        breaks = true;
        PostgresHints hints = hints(new FailingThreads(0));

        BackendSession.Watch watch = hints.watch("jobs", heard::add);

        await("listens for the ninth time").atMost(Duration.ofSeconds(4)).until(() -> heard.size() >= 9);
        watch.close();
        hints.close();
    }

    /** As when a link falls silent in the middle of a message: the driver bounds the wait for its first byte only. */
    @Test
    void aConnectionThatFallsSilentWithinAMessageIsReplaced() {
        hangs = true;
        timeout = Duration.ofMillis(200);
        PostgresHints hints = hints(new FailingThreads(0));

        BackendSession.Watch watch = hints.watch("jobs", heard::add);

        await("listens again").until(() -> heard.size() >= 2);
        watch.close();
        hints.close();
    }

    @Test
    void theNextWaiterListensIfThereWasNoThreadForTheFirst() {
        PostgresHints hints = hints(new FailingThreads(1));
        BackendSession.Watch first = hints.watch("jobs", hint -> {});

        BackendSession.Watch second = hints.watch("jobs", heard::add);

        await("listens").until(() -> heard.contains(CasStore.EVERYBODY));
        first.close();
        second.close();
    }

    /** No session of this test says anything of its own accord. */
    private static final class Silent implements SessionListener {
        @Override
        public void lost(Collection<Hold> holds, String reason) {
            throw new AssertionError(reason);
        }

        @Override
        public void ended(String reason) {
            throw new AssertionError(reason);
        }
    }

    private static SemaphoreBackend backend(String settings) {
        return new JdbcBackendProvider()
                .open(BackendUri.parse(PostgresServer.shared().uri(settings)), HolderInfo.ofThisProcess("hints"));
    }

    private static ExchangeResult exchange(BackendSession by, List<Hold> giveBack, List<Integer> wants) {
        return by.exchange(new ExchangeRequest(giveBack, wants, 1, !wants.isEmpty()));
    }

    /** No engine polls here, so that nothing but the call wakes who waits. */
    @Test
    void clientsHearEachOtherAlsoIfOnlyOneNamesTheSchema() {
        try (SemaphoreBackend plain = backend("?table=spelled");
                SemaphoreBackend named = backend("?schema=public&table=spelled")) {
            assertThat(plain.admin().create("jobs", 1)).isTrue();
            BackendSession holder = plain.open("jobs", new Silent());
            Answer held = exchange(holder, List.of(), List.of(1)).answers().get(0);
            BackendSession waiter = named.open("jobs", new Silent());
            AtomicInteger hints = new AtomicInteger();
            BackendSession.Watch watch = waiter.watch(hints::incrementAndGet);
            await("listens").until(() -> hints.get() == 1);
            assertThat(exchange(waiter, List.of(), List.of(1)).answers()).containsExactly(Answer.FULL);

            ExchangeResult unused = exchange(holder, ((Answer.Granted) held).holds(), List.of());

            await("is called").until(() -> hints.get() == 2);
            watch.close();
            waiter.close();
            holder.close();
        } finally {
            PostgresServer.shared().execute("DROP TABLE spelled");
        }
    }
}
