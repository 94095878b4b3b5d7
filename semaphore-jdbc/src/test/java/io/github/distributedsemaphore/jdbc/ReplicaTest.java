package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * A primary dies and a replica takes over: what is lost, and what is not. A client that names both servers finds the new primary by
 * itself. On demand: -Dkit.replica=true -Dtest=ReplicaTest. That a replica lacks a grant is in the kit's section on fail-over.
 */
@EnabledIfSystemProperty(named = "kit.replica", matches = "true")
class ReplicaTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static String uri(PostgresServer one, PostgresServer other) {
        return "postgresql://" + PostgresServer.USER + ":" + PostgresServer.PASSWORD + "@127.0.0.1:" + one.port()
                + ",127.0.0.1:" + other.port() + "/" + PostgresServer.DATABASE + "?detection=20s&timeout=2s";
    }

    /** The first call may still meet a connection to the server that is gone. */
    private static void awaitHeld(Permit permit) {
        await("the new primary is asked")
                .atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                .until(() -> permit.verify() == Verification.HELD);
    }

    @Test
    void aSynchronousReplicaHasEachGrantThatWasAnswered() throws Exception {
        try (PostgresServer primary = PostgresServer.started();
                PostgresServer standby = PostgresServer.replicaOf(primary)) {
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'replica'", "SELECT pg_reload_conf()");
            await("the replica is synchronous")
                    .atMost(PATIENCE)
                    .until(() -> primary.query("SELECT sync_state FROM pg_stat_replication")
                            .equals(List.of("sync")));
            try (SemaphoreClient client = SemaphoreClient.connect(uri(primary, standby));
                    SemaphoreClient other = SemaphoreClient.connect(uri(primary, standby))) {
                client.admin().create("jobs", 3);
                DistributedSemaphore jobs = client.semaphore("jobs");
                Permit first = jobs.acquire(PATIENCE);
                Permit second = jobs.acquire(PATIENCE);
                primary.process.kill();
                standby.promote();

                // Each was answered before the kill, the second one right before.
                awaitHeld(first);
                awaitHeld(second);
                Permit third = other.semaphore("jobs").acquire(PATIENCE);
                assertThat(third.slot()).isNotIn(first.slot(), second.slot());
                assertThat(other.semaphore("jobs").availablePermits()).isZero();
            }
        }
    }

    /** What a standby says may be out of date: a permit would seem lost, and a semaphore missing. */
    @Test
    void aStandbyAnswersNothing() throws Exception {
        try (PostgresServer primary = PostgresServer.started();
                PostgresServer standby = PostgresServer.replicaOf(primary);
                SemaphoreClient client = SemaphoreClient.connect(primary.uri(""));
                SemaphoreClient lost = SemaphoreClient.connect(standby.uri("?timeout=2s"))) {
            client.admin().create("jobs", 2);
            await("the replica has the semaphore")
                    .atMost(PATIENCE)
                    .until(() -> standby.query("SELECT name FROM semaphores").size() == 1);

            for (ThrowingCallable question : List.<ThrowingCallable>of(
                    () -> lost.admin().status("jobs"), () -> lost.admin().names(), () -> lost.ping(PATIENCE), () -> {
                        var unused = lost.semaphore("jobs").tryAcquire();
                    })) {
                assertThatThrownBy(question)
                        .isInstanceOf(BackendUnavailableException.class)
                        .hasMessageContaining("standby");
            }
        }
    }

    /** The driver takes any server unless it is told to look for the one that accepts writes. */
    @Test
    void aJdbcUrlOfSeveralHostsLeadsToThePrimary() throws Exception {
        try (PostgresServer primary = PostgresServer.started();
                PostgresServer standby = PostgresServer.replicaOf(primary);
                SemaphoreClient client = SemaphoreClient.connect(
                        "jdbc:postgresql://127.0.0.1:" + standby.port() + ",127.0.0.1:" + primary.port() + "/"
                                + PostgresServer.DATABASE + "?user=" + PostgresServer.USER + "&password="
                                + PostgresServer.PASSWORD)) {
            assertThat(client.admin().create("jobs", 1)).isTrue();
            client.semaphore("jobs").acquire(PATIENCE).release();
        }
    }

    @Test
    void anAsynchronousReplicaLacksWhatDidNotReachIt() throws Exception {
        try (PostgresServer primary = PostgresServer.started();
                PostgresServer standby = PostgresServer.replicaOf(primary)) {
            try (SemaphoreClient client = SemaphoreClient.connect(uri(primary, standby))) {
                client.admin().create("jobs", 2);
                Permit kept = client.semaphore("jobs").acquire(PATIENCE);
                await("the replica has the first grant")
                        .atMost(PATIENCE)
                        .until(() -> standby.query("SELECT state FROM semaphores WHERE state LIKE '%hold 1 %'")
                                        .size()
                                == 1);
                standby.execute("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()");
                await("the replica follows nobody")
                        .atMost(PATIENCE)
                        .until(() -> standby.query("SELECT pid FROM pg_stat_wal_receiver")
                                .isEmpty());
                Permit lost = client.semaphore("jobs").acquire(PATIENCE);
                primary.process.kill();
                standby.promote();

                awaitHeld(kept);
                assertThat(lost.verify()).isEqualTo(Verification.LOST);
                assertThat(client.semaphore("jobs").availablePermits()).isEqualTo(1);
            }
        }
    }
}
