package io.github.distributedsemaphore.tck.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The faults that an agent can suffer really happen to it. */
class AgentTest {
    private final AgentProcess process = new AgentProcess(AgentLauncher.sameClassPath("none:"));
    private final Agent agent = new Agent(process);

    @AfterEach
    void end() {
        agent.close();
        assertThat(agent.isAlive()).isFalse();
    }

    @Test
    void readsTheSameClock() {
        agent.checkClock();
    }

    @Test
    void passesOnWhatTheClientThrows() {
        assertThatThrownBy(() -> agent.connect("none:", ClientSpec.plain()))
                .isInstanceOfSatisfying(
                        AgentException.class,
                        thrown -> assertThat(thrown.was(IllegalArgumentException.class))
                                .isTrue())
                .hasMessageContaining("No backend for 'none:'");
    }

    @Test
    void isKilled() {
        agent.checkClock();
        agent.kill9();
        assertThat(agent.isAlive()).isFalse();
        assertThatThrownBy(agent::watchTime).hasMessageContaining("agent " + agent.pid());
    }

    @Test
    void anOrderlyEndIsNoKill() throws Exception {
        process.tell("forget");
        assertThat(process.awaitEnd(Duration.ofSeconds(30))).isZero();
        assertThatThrownBy(agent::kill9).hasMessageContaining("ended with 0 where it was to be killed");
    }

    /** Makes a thread without a word on whether it is a daemon, and no backend. */
    public static final class PlainThreads implements BackendProvider {
        @Override
        public Set<String> schemes() {
            return Set.of("plainthreads");
        }

        @Override
        public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
            new Thread(LockSupport::park, "of an adapter").start();
            throw new IllegalArgumentException("there is no such backend");
        }
    }

    @Test
    void aThreadThatAnAdapterMakesKeepsTheAgentAliveUnlessItIsMadeADaemon() {
        assertThatThrownBy(() -> agent.connect("plainthreads:", ClientSpec.plain()))
                .hasMessageContaining("there is no such backend");
        process.tell("forget");
        assertThatThrownBy(() -> process.awaitEnd(Duration.ofSeconds(3)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("has not ended");
    }

    @Test
    void standsStillAndGoesOn() throws Exception {
        agent.checkClock();
        agent.stop();
        var answer = process.send("ping", new com.google.gson.JsonObject());
        assertThatThrownBy(() -> answer.get(200, TimeUnit.MILLISECONDS)).isInstanceOf(Exception.class);
        long before = System.nanoTime();
        agent.resume();
        assertThat(answer.get(30, TimeUnit.SECONDS).get("now").getAsLong()).isGreaterThan(before);
    }

    @Test
    void endsWhenNobodyIsThere() throws Exception {
        agent.checkClock();
        process.hangUp();
        assertThat(process.awaitEnd(Duration.ofSeconds(30))).isEqualTo(3);
    }
}
