package io.github.distributedsemaphore.consul.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.http.conn.DnsResolver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A request ends in time, whatever the name server does that knows the agent's host. */
class NameServerTest {
    private static final Duration LONGEST = Duration.ofSeconds(2);

    private static final Duration SILENCE = Duration.ofSeconds(20);

    private final InetAddress loopback = InetAddress.getLoopbackAddress();
    private final AtomicInteger questions = new AtomicInteger();
    private final CountDownLatch answer = new CountDownLatch(1);

    private static ConsulHttp http(int port, DnsResolver names) {
        return new ConsulHttp(new HostAndPort("agent.test", port), null, "", "", LONGEST, 2, names);
    }

    @AfterEach
    void letGo() {
        answer.countDown();
    }

    private InetAddress[] afterAWhile(String host) {
        assertThat(host).isEqualTo("agent.test");
        questions.incrementAndGet();
        boolean unused = InterruptShield.await(answer::await, Deadline.after(System.nanoTime(), SILENCE));
        return new InetAddress[] {loopback};
    }

    @Test
    void oneThatSaysNothingHoldsNoRequestUp() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(loopback, 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
        try (ConsulHttp http = http(server.getAddress().getPort(), this::afterAWhile)) {
            long start = System.nanoTime();
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> http.get(http.end(), "/v1/status/leader"))
                        .isInstanceOfSatisfying(
                                NoReplyException.class,
                                e -> assertThat(e.isUnsent()).isTrue())
                        .hasMessageContaining("in time");
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SILENCE.dividedBy(2));
            assertThat(questions).as("one thread waits, for all requests").hasValue(1);
            answer.countDown();
            assertThat(http.get(http.waitingCall(), "/v1/status/leader").isOk()).isTrue();
        } finally {
            server.stop(0);
        }
    }

    @Test
    void oneThatDoesNotKnowTheHostIsAskedAgain() {
        DnsResolver unknown = host -> {
            questions.incrementAndGet();
            throw new UnknownHostException(host + ": Name or service not known");
        };
        try (ConsulHttp http = http(1, unknown)) {
            for (int i = 1; i <= 2; i++) {
                assertThatThrownBy(() -> http.get(http.waitingCall(), "/v1/status/leader"))
                        .isInstanceOf(NoReplyException.class)
                        .hasMessageContaining("agent.test: Name or service not known");
                assertThat(questions).hasValue(i);
            }
        }
    }
}
