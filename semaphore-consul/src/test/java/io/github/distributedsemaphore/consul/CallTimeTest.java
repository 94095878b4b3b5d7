package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.agent.Signals;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** Every call of the driven port ends within a third of the operation bound, whatever the server does. */
class CallTimeTest {
    private static final ExchangeRequest WANT = new ExchangeRequest(List.of(), List.of(1), 1, false);

    @Test
    void aServerThatDripsHoldsNoCallUp() throws Exception {
        try (StubServer server = StubServer.dripping()) {
            everyCallEndsInTime(server.address());
        }
    }

    @Test
    void aServerThatSaysNothingHoldsNoCallUp() throws Exception {
        try (StubServer server = StubServer.silent()) {
            everyCallEndsInTime(server.address());
        }
    }

    private static void everyCallEndsInTime(String address) throws Exception {
        try (SemaphoreBackend backend = Consul.openAt("consul://" + address + "?timeout=3s")) {
            BackendSession session = backend.open("any", new Consul.Losses());
            Map<String, Runnable> calls = new LinkedHashMap<>();
            calls.put("create", () -> backend.admin().create("any", 3));
            calls.put("destroy", () -> backend.admin().destroy("any"));
            calls.put("names", () -> backend.admin().names());
            calls.put("exchange", () -> session.exchange(WANT));
            calls.put("renew", () -> session.renew(List.of()));
            calls.put("ping", backend::ping);
            endInTime(backend, calls);
            endInTime(backend, Map.of("close", session::close));
        }
    }

    @Test
    void anAgentThatIsStoppedHoldsNoCallOfAHolderUp() throws Exception {
        try (ConsulAgent agent = ConsulAgent.inMemory();
                SemaphoreBackend backend =
                        Consul.openAt("consul://" + agent.server().address() + "?timeout=3s")) {
            backend.admin().create("held", 3);
            BackendSession session = backend.open("held", new Consul.Losses());
            Hold hold = takeOne(session);
            // Not the same hold: what is about to be given back is answered for without a request.
            ExchangeRequest swap = new ExchangeRequest(List.of(takeOne(session)), List.of(1, 1), 1, true);
            Map<String, Runnable> calls = new LinkedHashMap<>();
            calls.put("renew", () -> session.renew(List.of(hold)));
            calls.put("check", () -> session.check(hold));
            calls.put("exchange", () -> session.exchange(swap));
            calls.put("describe", () -> backend.admin().describe("held"));
            assertThat(Signals.stop(agent.pid())).isTrue();
            try {
                endInTime(backend, calls);
                endInTime(backend, Map.of("resolve", () -> session.resolve(swap)));
                endInTime(backend, Map.of("close", session::close));
            } finally {
                Signals.resume(agent.pid());
            }
        }
    }

    /** Does all of them at once. */
    private static void endInTime(SemaphoreBackend backend, Map<String, Runnable> calls) throws Exception {
        long start = System.nanoTime();
        Duration bound = backend.guarantees().callBound().dividedBy(3);
        Map<String, CompletableFuture<Void>> ends = new LinkedHashMap<>();
        calls.forEach((name, call) -> ends.put(name, CompletableFuture.runAsync(call, task -> {
            Thread thread = new Thread(task, "caller of " + name);
            thread.setDaemon(true);
            thread.start();
        })));
        for (Map.Entry<String, CompletableFuture<Void>> call : ends.entrySet()) {
            try {
                long left = start + bound.toNanos() - System.nanoTime();
                call.getValue().get(left, TimeUnit.NANOSECONDS);
                assertThat(call.getKey()).as("what does not fail").isEqualTo("close");
            } catch (TimeoutException e) {
                throw new AssertionError(call.getKey() + " takes longer than " + bound, e);
            } catch (ExecutionException e) {
                assertThat(e.getCause()).as(call.getKey()).isInstanceOf(SemaphoreException.class);
            }
        }
    }
}
