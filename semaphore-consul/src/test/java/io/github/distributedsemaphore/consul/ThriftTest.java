package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a client costs its agent, and that it lets go at once although a query is open. */
class ThriftTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration LONG = PATIENCE.multipliedBy(2);
    private static final Duration AT_ONCE = Duration.ofMillis(100);

    private final ConsulServer server = ConsulServer.shared();
    private final TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
    private final String prefix = Consul.uniqueName();

    @AfterEach
    void close() {
        proxy.close();
        server.deleteBelow(prefix);
    }

    private SemaphoreClient connect() {
        return SemaphoreClient.connect("consul://127.0.0.1:" + proxy.address().getPort() + "?prefix=" + prefix);
    }

    private static long watches(String name) {
        return watchThreads(name).size();
    }

    private static Set<Thread> watchThreads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("semaphore-consul-watch " + name))
                .collect(Collectors.toSet());
    }

    @Test
    void theThreadOfAWatchOutlivesTheSlotThatItWatches() throws Exception {
        try (SemaphoreClient client = connect()) {
            client.admin().create("coming and going", 1);
            DistributedSemaphore semaphore = client.semaphore("coming and going");
            Set<Thread> threads = new HashSet<>();
            long pairs = 0;
            long start = System.nanoTime();
            while (pairs <= 5 || System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(500)) {
                semaphore.acquire(PATIENCE).release();
                threads.addAll(watchThreads("coming and going"));
                pairs++;
            }
            assertThat(threads).hasSize(1);
            await("it ends when nothing is held any more")
                    .atMost(PATIENCE)
                    .until(() -> watches("coming and going") == 0);
        }
    }

    @Test
    void aCrowdThatWaitsAtOneNameIsOneWatchAndOneContender() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(40);
        try (SemaphoreClient client = connect()) {
            client.admin().create("crowded", 2);
            DistributedSemaphore semaphore = client.semaphore("crowded");
            Permit held = semaphore.acquire(2, PATIENCE).permits().get(0);
            List<Future<?>> waiters = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                waiters.add(threads.submit(() -> semaphore.acquire(LONG).release()));
            }
            // The contender comes once the callers have been refused for a while.
            await("entries of two held slots, and one of forty callers")
                    .during(Duration.ofMillis(500))
                    .atMost(PATIENCE)
                    .until(() -> entries("crowded") == 3);
            assertThat(watches("crowded")).isEqualTo(1);
            assertThat(proxy.openConnections()).isLessThanOrEqualTo(1 + ConsulBackend.OPERATION_CONNECTIONS);
            held.release();
            for (Future<?> waiter : waiters) {
                waiter.get(LONG.toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private long entries(String name) {
        String below = prefix + "/" + name + "/";
        return server.keys().stream()
                .filter(key -> key.startsWith(below) && !key.startsWith(below + "."))
                .count();
    }

    @Test
    void manyNamesAtOnceStayWithinTheConnectionsThatConsulGrants() throws Exception {
        int names = ConsulBackend.WATCH_CONNECTIONS + 20;
        try (SemaphoreClient client = connect()) {
            List<Permit> held = new ArrayList<>();
            for (int i = 0; i < names; i++) {
                client.admin().create("name" + i, 1);
                held.add(client.semaphore("name" + i).acquire(PATIENCE));
            }
            assertThat(proxy.openConnections())
                    .isGreaterThan(ConsulBackend.WATCH_CONNECTIONS / 2)
                    .isLessThanOrEqualTo(ConsulBackend.WATCH_CONNECTIONS + ConsulBackend.OPERATION_CONNECTIONS);
            assertThat(held).allSatisfy(permit -> assertThat(permit.isValid()).isTrue());
            held.forEach(Permit::close);
        }
    }

    @Test
    void aQueryThatWaitedForAConnectionHasItsWholeTime() throws Exception {
        server.put(prefix + "/key", "value");
        String uri = "consul://127.0.0.1:" + proxy.address().getPort();
        ConsulSettings settings = ConsulSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
        try (ConsulHttp http = settings.http(Duration.ofSeconds(4), 1)) {
            String index =
                    "index=" + http.get(http.end(), "/v1/kv/" + prefix + "/key").index();
            Callable<ConsulHttp.Reply> query =
                    () -> http.get(http.waitingCall(), "/v1/kv/" + prefix + "/key", index, "wait=2500ms");
            ExecutorService threads = Executors.newFixedThreadPool(2);
            try {
                for (Future<ConsulHttp.Reply> reply : threads.invokeAll(List.of(query, query))) {
                    assertThat(reply.get().isOk()).isTrue();
                }
            } finally {
                threads.shutdownNow();
            }
        }
    }

    @Test
    void theTimersOfCallsEndWithTheirClient() throws Exception {
        Set<Thread> before = timers();
        try (SemaphoreClient client = connect()) {
            client.admin().create("timed", 1);
            try (Permit permit = client.semaphore("timed").acquire(PATIENCE)) {
                assertThat(permit.isValid()).isTrue();
                assertThat(timers()).hasSizeGreaterThan(before.size());
            }
        }
        await().atMost(Duration.ofSeconds(2)).until(() -> before.containsAll(timers()));
    }

    private static Set<Thread> timers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(Consul.TIMER_THREAD))
                .collect(Collectors.toSet());
    }

    /** The best of a few: it is not the machine that is measured. */
    @Test
    void closeAndInterruptTakeEffectAtOnceAlthoughAQueryIsOpen() throws Exception {
        List<Duration> closes = new ArrayList<>();
        List<Duration> interrupts = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            String name = "closed" + i;
            // Closed while it waits.
            SemaphoreClient other = connect();
            try (SemaphoreClient client = connect()) {
                client.admin().create(name, 1);
                Permit held = client.semaphore(name).acquire(PATIENCE);
                Waiter waiter = new Waiter(other.semaphore(name));
                await("both watch").atMost(PATIENCE).until(() -> watches(name) == 2 && waiter.isParked());
                interrupts.add(waiter.interrupted());
                CompletableFuture<Permit> async = other.semaphore(name).acquireAsync(PATIENCE);
                long start = System.nanoTime();
                other.close();
                closes.add(Duration.ofNanos(System.nanoTime() - start));
                await("who waits is told").atMost(PATIENCE).until(async::isCompletedExceptionally);
                held.release();
            }
        }
        assertThat(closes)
                .as("time of close")
                .anySatisfy(time -> assertThat(time).isLessThan(AT_ONCE));
        assertThat(interrupts)
                .as("time of an interrupt")
                .anySatisfy(time -> assertThat(time).isLessThan(AT_ONCE));
    }

    /** A thread that waits for a permit until it is interrupted. */
    private static final class Waiter {
        private final CompletableFuture<Long> end = new CompletableFuture<>();
        private final Thread thread;

        Waiter(DistributedSemaphore semaphore) {
            thread = new Thread(() -> wait(semaphore), "waiter");
            thread.start();
        }

        private void wait(DistributedSemaphore semaphore) {
            try {
                semaphore.acquire(PATIENCE).close();
                end.completeExceptionally(new AssertionError("it got a permit"));
            } catch (InterruptedException e) {
                end.complete(System.nanoTime());
            }
        }

        boolean isParked() {
            return thread.getState() == Thread.State.TIMED_WAITING;
        }

        Duration interrupted() throws InterruptedException, ExecutionException {
            long start = System.nanoTime();
            thread.interrupt();
            return Duration.ofNanos(end.get() - start);
        }
    }
}
