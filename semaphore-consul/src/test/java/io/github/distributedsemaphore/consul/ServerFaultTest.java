package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.Verification;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Agents and leaders that are killed by {@code kill -9} while permits are held. */
class ServerFaultTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String NAME = "faulty";

    private final Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();

    @TempDir
    Path data;

    private static SemaphoreClient connect(ConsulAgent agent, String... more) {
        // Long enough for any machine to start a server again.
        return SemaphoreClient.connect(
                "consul://" + agent.server().address() + "?detection=2m" + String.join("", more));
    }

    private Permit take(DistributedSemaphore semaphore) throws InterruptedException {
        Permit permit = semaphore.acquire(PATIENCE);
        permit.onLost(losses::add);
        return permit;
    }

    /** An attempt that is refused by its backend is made again: that is what the exceptions say may be done. */
    private static Permit takeWhenItWorks(DistributedSemaphore semaphore) {
        return await("an attempt that is answered")
                .atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(SemaphoreException.class)
                .until(() -> semaphore.tryAcquire().orElse(null), permit -> permit != null);
    }

    @Test
    void aServerThatIsKilledAndComesBackWithItsDataCostsNoPermit() throws Exception {
        try (ConsulAgent agent = ConsulAgent.onDisk(data.resolve("server"));
                SemaphoreClient client = connect(agent)) {
            client.admin().create(NAME, 2);
            DistributedSemaphore semaphore = client.semaphore(NAME);
            Permit first = take(semaphore);
            agent.kill();
            assertThatThrownBy(semaphore::tryAcquire)
                    .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
            assertThat(first.isValid()).isTrue();
            agent.start();
            agent.awaitLeader();

            Permit second = takeWhenItWorks(semaphore);
            assertThat(second.fence().epoch()).isGreaterThan(first.fence().epoch());
            assertThat(first.verify()).isEqualTo(Verification.HELD);
            assertThat(semaphore.tryAcquire()).isEmpty();
            CompletableFuture<Permit> waiter = semaphore.acquireAsync(PATIENCE);
            first.release();
            waiter.get().release();
            second.release();
            assertThat(losses).isEmpty();
            assertThat(semaphore.availablePermits()).isEqualTo(2);
        }
    }

    @Test
    void anAgentThatForgetsEverythingTakesThePermitsAlongAndTheHoldersAreTold() throws Exception {
        try (ConsulAgent agent = ConsulAgent.inMemory();
                SemaphoreClient client = connect(agent);
                SemaphoreClient other = connect(agent)) {
            client.admin().create(NAME, 1);
            Permit permit = take(client.semaphore(NAME));
            CompletableFuture<Permit> waiter = other.semaphore(NAME).acquireAsync(PATIENCE);
            agent.kill();
            agent.start();
            agent.awaitLeader();

            await("the holder is told").atMost(PATIENCE).until(() -> !losses.isEmpty());
            assertThat(permit.isValid()).isFalse();
            assertThat(permit.verify()).isEqualTo(Verification.LOST);
            await("the waiter does not hang").atMost(PATIENCE).until(waiter::isDone);
            assertThatThrownBy(waiter::get)
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOfAny(
                            NoSuchSemaphoreException.class,
                            BackendUnavailableException.class,
                            OutcomeUnknownException.class);
            client.admin().create(NAME, 1);
            takeWhenItWorks(client.semaphore(NAME)).release();
            takeWhenItWorks(other.semaphore(NAME)).release();
            assertThat(losses).hasSize(1);
        }
    }

    @Test
    void theLossOfALeaderAndOfTheMajorityCostsNoPermit() throws Exception {
        List<ConsulAgent> servers = ConsulAgent.cluster(data, 3, "");
        ConsulAgent leader = ConsulAgent.leaderOf(servers);
        List<ConsulAgent> followers =
                servers.stream().filter(server -> server != leader).toList();
        // The cluster may give up a server that is away for long, and the sessions of its node with it.
        leader.server().registerNode();
        String node = "&node=" + ConsulServer.NODE;
        try (SemaphoreClient client = connect(followers.get(0), node);
                SemaphoreClient other = connect(followers.get(1), node)) {
            client.admin().create(NAME, 2);
            Permit first = take(client.semaphore(NAME));
            leader.kill();
            Permit second = takeWhenItWorks(other.semaphore(NAME));
            assertThat(second.slot()).isNotEqualTo(first.slot());

            followers.get(1).kill();
            assertThatThrownBy(() -> client.semaphore(NAME).tryAcquire())
                    .as("an attempt without a majority")
                    .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
            assertThat(first.isValid()).isTrue();
            followers.get(1).start();
            leader.start();
            servers.forEach(ConsulAgent::awaitLeader);

            await("the permits are confirmed")
                    .atMost(PATIENCE)
                    .ignoreExceptionsInstanceOf(SemaphoreException.class)
                    .until(() -> first.verify() == Verification.HELD && second.verify() == Verification.HELD);
            assertThat(client.admin().describe(NAME).orElseThrow().free()).isZero();
            first.release();
            Permit third = takeWhenItWorks(other.semaphore(NAME));
            assertThat(third.slot()).isEqualTo(first.slot());
            assertThat(third.fence().epoch()).isGreaterThan(first.fence().epoch());
            second.release();
            third.release();
            assertThat(losses).isEmpty();
        } finally {
            servers.forEach(ConsulAgent::close);
        }
    }
}
