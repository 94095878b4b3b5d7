package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An overdue call ends, also on a machine that has no thread to spare for a moment; what is of no use is not kept. */
class ConnectionsTest {
    private final CountDownLatch aborted = new CountDownLatch(1);
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean autoCommit = true;
    private volatile @Nullable String failing;
    private volatile boolean hangsAtTheEnd;

    private final Connection hangs = connection();

    private Connection connection() {
        return (Connection) Proxy.newProxyInstance(
                ConnectionsTest.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (self, method, arguments) -> {
                    if (method.getName().equals(failing)) {
                        throw new IllegalStateException("made by a test");
                    }
                    return switch (method.getName()) {
                        case "toString" -> "a connection";
                        case "hashCode" -> System.identityHashCode(self);
                        case "equals" -> self == arguments[0];
                        case "abort" -> {
                            aborted.countDown();
                            yield null;
                        }
                        case "close" -> {
                            closed.countDown();
                            yield null;
                        }
                        case "setAutoCommit" -> {
                            autoCommit = (boolean) arguments[0];
                            if (hangsAtTheEnd && !autoCommit) {
                                yield aborted.await(10, TimeUnit.SECONDS);
                            }
                            yield null;
                        }
                        case "getAutoCommit" -> autoCommit;
                        case "isClosed" -> false;
                        default -> throw new SQLException(method.getName() + " is not expected");
                    };
                });
    }

    private static Connections connections(FailingThreads threads) {
        return new Connections(
                () -> {
                    throw new SQLException("no connection is wanted");
                },
                Duration.ofSeconds(1),
                1,
                "the test",
                threads,
                System::nanoTime);
    }

    /** A call that its server does not answer; returns whether it was ended. */
    private boolean call(Connections connections) throws SQLException {
        Deadline end = Deadline.after(System.nanoTime(), Duration.ofMillis(100));
        return connections.bounded(hangs, end, connection -> {
            try {
                return aborted.await(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new SQLException(e);
            }
        });
    }

    @Test
    void anOverdueCallEndsAlsoAfterOneThatGotNoThread() throws SQLException {
        Connections connections = connections(new FailingThreads(1));
        assertThatThrownBy(() -> call(connections)).isInstanceOf(InternalError.class);

        assertThat(call(connections)).as("whether the call was ended").isTrue();
    }

    @Test
    void anOverdueCallEndsAlsoIfThereIsNoThreadToEndIt() throws SQLException {
        assertThat(call(connections(new FailingThreads(2))))
                .as("whether the call was ended")
                .isTrue();
    }

    /** Whether a connection is lent again upon which work has failed. */
    private boolean isKeptAfter(SQLException failure) {
        AtomicInteger opened = new AtomicInteger();
        Callable<Connection> opener = () -> {
            opened.incrementAndGet();
            return hangs;
        };
        Connections connections = new Connections(opener, Duration.ofSeconds(10), 1, "the test");
        assertThatThrownBy(() -> connections.with(connections.deadline(), true, connection -> {
                    throw failure;
                }))
                .as("what says that nothing was done")
                .isInstanceOf(BackendUnavailableException.class);
        int next = connections.with(connections.deadline(), false, connection -> opened.get());
        connections.close();
        return next == 1;
    }

    /** PostgreSQL and MariaDB that became replicas, while another server has their name. */
    @Test
    void aConnectionToAServerThatIsReadOnlyIsNotKept() {
        assertThat(isKeptAfter(new SQLException("read-only transaction", "25006")))
                .isFalse();
        assertThat(isKeptAfter(new SQLException("--read-only option", "HY000", 1290)))
                .isFalse();
        assertThat(isKeptAfter(new SQLException("read-only mode", "HY000", 1836)))
                .isFalse();
    }

    @Test
    void aConnectionWhoseStatementTheServerEndedIsKept() {
        assertThat(isKeptAfter(new SQLException("statement timeout", "57014"))).isTrue();
    }

    /** The pool of an application that has none left for a moment. */
    @Test
    void aConnectionThatComesTooLateGoesBackUnharmed() throws Exception {
        CountDownLatch there = new CountDownLatch(1);
        Callable<Connection> opener = () -> {
            there.await();
            return hangs;
        };
        Connections connections = new Connections(opener, Duration.ofMillis(50), 0, "the test");
        assertThatThrownBy(() -> connections.with(connections.deadline(), false, connection -> 1))
                .isInstanceOf(BackendUnavailableException.class);

        there.countDown();

        assertThat(closed.await(10, TimeUnit.SECONDS)).as("given back").isTrue();
        assertThat(aborted.getCount()).as("not aborted").isOne();
    }

    /** Connections of a client that keeps one, whose first opening came too late and is over when this returns. */
    private Connections afterALateOne(AtomicInteger opened, Consumer<Connections> meanwhile) throws Exception {
        CountDownLatch there = new CountDownLatch(1);
        Callable<Connection> opener = () -> {
            if (opened.incrementAndGet() == 1) {
                there.await();
            }
            return hangs;
        };
        List<Thread> started = new CopyOnWriteArrayList<>();
        Executor threads = task -> {
            Thread thread = Connections.daemon(task, "test");
            started.add(thread);
            thread.start();
        };
        Connections connections =
                new Connections(opener, Duration.ofSeconds(10), 1, "the test", threads, System::nanoTime);
        Deadline soon = Deadline.after(System.nanoTime(), Duration.ofMillis(50));
        assertThatThrownBy(() -> connections.with(soon, false, connection -> 1))
                .isInstanceOf(BackendUnavailableException.class);
        meanwhile.accept(connections);
        there.countDown();
        started.get(0).join();
        return connections;
    }

    @Test
    void aConnectionThatComesTooLateIsUsedByTheNextCall() throws Exception {
        AtomicInteger opened = new AtomicInteger();
        try (Connections connections = afterALateOne(opened, meanwhile -> {})) {
            int next = connections.with(connections.deadline(), false, connection -> opened.get());

            assertThat(next).as("connections opened").isOne();
            assertThat(closed.getCount()).as("not closed").isOne();
        }
    }

    @Test
    void aConnectionThatComesTooLateIsClosedWhereThereIsOneMeanwhile() throws Exception {
        Consumer<Connections> another = meanwhile -> {
            int unused = meanwhile.with(meanwhile.deadline(), false, connection -> 1);
        };
        Connections connections = afterALateOne(new AtomicInteger(), another);

        assertThat(closed.getCount()).as("those that stay").isZero();
        connections.close();
    }

    @Test
    void aConnectionThatComesAfterTheCloseIsClosed() throws Exception {
        Connections unused = afterALateOne(new AtomicInteger(), Connections::close);

        assertThat(closed.getCount()).as("those that stay").isZero();
    }

    /** On a virtual thread the statement would close its socket. */
    @Test
    void anInterruptWhileAConnectionIsOpenedIsThereAfterTheWork() throws Exception {
        CountDownLatch opening = new CountDownLatch(1);
        CountDownLatch there = new CountDownLatch(1);
        Callable<Connection> opener = () -> {
            opening.countDown();
            there.await();
            return hangs;
        };
        try (Connections connections = new Connections(opener, Duration.ofSeconds(5), 1, "the test")) {
            AtomicBoolean within = new AtomicBoolean(true);
            AtomicBoolean after = new AtomicBoolean();
            Thread caller = new Thread(() -> {
                within.set(connections.with(
                        connections.deadline(),
                        false,
                        connection -> Thread.currentThread().isInterrupted()));
                after.set(Thread.currentThread().isInterrupted());
            });
            caller.start();
            assertThat(opening.await(10, TimeUnit.SECONDS)).isTrue();
            caller.interrupt();
            there.countDown();
            caller.join();

            assertThat(within).as("interrupted during the work").isFalse();
            assertThat(after).as("interrupted after the work").isTrue();
        }
    }

    @Test
    void aConnectionGoesBackInTheModeInWhichItWasLent() {
        autoCommit = false;
        Connections connections = new Connections(() -> hangs, Duration.ofSeconds(10), 0, "the test");

        boolean meanwhile = connections.with(connections.deadline(), false, Connection::getAutoCommit);

        assertThat(meanwhile).as("in auto-commit mode while it is used").isTrue();
        assertThat(autoCommit).as("in auto-commit mode when it goes back").isFalse();
    }

    private static Connection used(Connections connections) {
        return connections.with(connections.deadline(), false, connection -> connection);
    }

    private static List<Connection> usedByTwoCallsAtOnce(Connections connections) {
        return connections.with(connections.deadline(), false, first -> List.of(first, used(connections)));
    }

    /** A router has forgotten it, say, and nobody says so. */
    @Test
    void aConnectionThatWasNotUsedForLongIsClosed() throws Exception {
        AtomicLong clock = new AtomicLong();
        Executor threads = task -> Connections.daemon(task, "test").start();
        try (Connections connections =
                new Connections(this::connection, Duration.ofSeconds(10), 2, "the test", threads, clock::get)) {
            List<Connection> before = usedByTwoCallsAtOnce(connections);
            assertThat(usedByTwoCallsAtOnce(connections))
                    .as("shortly afterwards")
                    .hasSameElementsAs(before);
            Connection kept = used(connections);
            for (int i = 0; i < 6; i++) {
                clock.addAndGet(TimeUnit.SECONDS.toNanos(10));
                assertThat(used(connections)).as("one call at a time").isSameAs(kept);
            }

            List<Connection> after = usedByTwoCallsAtOnce(connections);

            assertThat(after.get(0)).isSameAs(kept);
            assertThat(before).doesNotContain(after.get(1));
            assertThat(closed.await(10, TimeUnit.SECONDS)).as("closed").isTrue();
            assertThat(aborted.getCount()).as("not aborted").isOne();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"close", "setAutoCommit"})
    void whatWasDoneWasDoneAlsoIfTheConnectionDoesNotGoBack(String method) {
        autoCommit = false;
        Connections connections = new Connections(() -> hangs, Duration.ofSeconds(10), 0, "the test");

        int result = connections.with(connections.deadline(), true, connection -> {
            failing = method;
            return 1;
        });

        assertThat(result).isOne();
    }

    /** What the call has left is for the settings too. Else a call takes twice its time. */
    @Test
    void aConnectionGoesBackWithinTheTimeOfTheCall() {
        autoCommit = false;
        hangsAtTheEnd = true;
        Connections connections = new Connections(() -> hangs, Duration.ofSeconds(8), 0, "the test");
        long start = System.nanoTime();

        int unused = connections.with(Deadline.after(start, Duration.ofMillis(300)), true, connection -> 1);

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    }

    private static Set<Thread> threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .collect(Collectors.toSet());
    }

    /** A client that renews every second would start a thread for each renewal. */
    @Test
    void theThreadForCallsStaysUntilTheClose() {
        Set<Thread> ofOthers = threads("semaphore-jdbc-calls");
        Connections connections = new Connections(() -> hangs, Duration.ofSeconds(10), 1, "the test");
        int unused = connections.with(connections.deadline(), false, connection -> 1);
        Set<Thread> own = threads("semaphore-jdbc-calls");
        own.removeAll(ofOthers);

        await("stays").during(Duration.ofSeconds(2)).until(() -> own.stream().anyMatch(Thread::isAlive));
        connections.close();

        await("ends").until(() -> own.stream().noneMatch(Thread::isAlive));
    }

    @Test
    void aCloseThatGetsNoThreadEndsWhatIsIdle() {
        Set<Thread> ofOthers = threads("test");
        Connections connections = new Connections(
                () -> hangs, Duration.ofSeconds(10), 1, "the test", new FailingThreads(3), System::nanoTime);
        int unused = connections.with(connections.deadline(), false, connection -> 1);
        Set<Thread> own = threads("test");
        own.removeAll(ofOthers);

        connections.close();

        assertThat(aborted.getCount()).as("connections that stay").isZero();
        await("the thread for calls ends").until(() -> own.stream().noneMatch(Thread::isAlive));
    }

    private static long waitForLock(PostgresServer server) {
        return server.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'semaphore'"
                        + " AND wait_event_type = 'Lock' AND query LIKE '%locked%'")
                .size();
    }

    /** The server does not notice that a connection was aborted while its statement waits for a lock. */
    @Test
    void aLockedTableTakesNoMoreAndMoreConnections() throws Exception {
        PostgresServer server = PostgresServer.shared();
        try (SemaphoreClient client = SemaphoreClient.connect(server.uri("?table=locked&detection=5s&timeout=1s"))) {
            client.admin().create("jobs", 1);
            Permit held = client.semaphore("jobs").acquire();
            try (Connection operator = server.connect();
                    Statement lock = operator.createStatement()) {
                operator.setAutoCommit(false);
                lock.execute("LOCK TABLE locked IN ACCESS EXCLUSIVE MODE");
                await("a renewal waits").until(() -> waitForLock(server) > 0);
                await("no more than a few wait")
                        .during(Duration.ofSeconds(4))
                        .atMost(Duration.ofSeconds(6))
                        .until(() -> waitForLock(server) <= 3);
            }
            held.close();
        } finally {
            server.execute("DROP TABLE IF EXISTS locked");
        }
    }
}
