package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of sections 6 and 13 about a backend that answers with errors. */
@Section
public abstract class ErrorRules {
    private static final int MOST_ATTEMPTS = 3;

    /** For subclasses. */
    protected ErrorRules() {}

    private static ServerControl server(TckFixture tck) {
        ServerControl server = tck.server();
        if (server.errors().isEmpty()) {
            throw new HookMissingException("ServerControl.errors");
        }
        return server;
    }

    @Test
    @Rule({"13.9", "6.6"})
    void anErrorOfTheBackendIsNeitherAGrantNorALoss(TckFixture tck) throws Exception {
        ServerControl server = server(tck);
        Route route = tck.route(server);
        for (String kind : server.errors()) {
            int attempts = 1;
            while (!isNeitherAGrantNorALoss(tck, server, route, kind)) {
                if (++attempts > MOST_ATTEMPTS) {
                    throw new FaultMissedException("errors by " + kind + " lasted longer than a permit is valid");
                }
            }
        }
    }

    /** Returns false if that was not to be seen: on a busy machine the errors can last longer than a lease. */
    private static boolean isNeitherAGrantNorALoss(TckFixture tck, ServerControl server, Route route, String kind)
            throws Exception {
        String name = tck.uniqueName();
        String destroyed = tck.uniqueName();
        SemaphoreClient client = route.client();
        client.admin().create(name, 3);
        DistributedSemaphore semaphore = client.semaphore(name);
        Watched held = new Watched(tck, tck.take(semaphore, 1).get(0));
        Observer.assertWorks(tck, semaphore);
        SemaphoreClient other = route.client();
        other.admin().create(destroyed, 1);
        Permit retired = tck.take(client.semaphore(destroyed), 1).get(0);
        other.admin().destroy(destroyed);
        assertThat(other.admin().describe(name)).isPresent();
        server.beginErrors(kind);
        Deadline end = held.permit().validUntil();
        try {
            assertFails(tck, kind, name, semaphore);
            assertTellsWhatIs(tck, kind, other, name, destroyed);
        } finally {
            server.endErrors(kind);
        }
        retired.close();
        if (!held.losses().isEmpty() && end.isPast(System.nanoTime())) {
            held.end();
            held.permit().close();
            return false;
        }
        assertThat(held.losses()).as("losses reported by %s", kind).isEmpty();
        assertThat(Observer.verified(tck, held.permit()))
                .as("a permit after %s", kind)
                .isEqualTo(Verification.HELD);
        new Observer(tck, semaphore).awaitFree(2, "a call that failed by " + kind + " took nothing");
        held.end();
        held.permit().release();
        Observer.assertWorks(tck, semaphore);
        return true;
    }

    private static void assertFails(TckFixture tck, String kind, String name, DistributedSemaphore semaphore) {
        Task<String> call = tck.spawn("tryAcquire", () -> {
            try {
                Optional<Permit> permit = semaphore.tryAcquire();
                permit.ifPresent(Permit::close);
                return permit.isPresent() ? "a grant" : "a refusal";
            } catch (BackendUnavailableException
                    | OutcomeUnknownException
                    | BackendAccessException
                    | IncompatibleStateException e) {
                return String.valueOf(e.getMessage());
            }
        });
        tck.await(
                "tryAcquire ends in time although the backend answers with " + kind,
                tck.guarantees().callBound(),
                call::isDone);
        String outcome = call.result();
        if (outcome.equals("a grant")) {
            throw new FaultMissedException("the server grants although it was to fail by " + kind);
        }
        assertThat(outcome)
                .as("what an error of the backend (%s) is taken for, and whether it names the semaphore", kind)
                .isNotEqualTo("a refusal")
                .contains(name);
    }

    /** Another client looks at a semaphore of which one permit of three is held, and at one that was destroyed under its holder. */
    private static void assertTellsWhatIs(
            TckFixture tck, String kind, SemaphoreClient client, String name, String destroyed) {
        Map<String, Callable<Object>> looks = new LinkedHashMap<>();
        looks.put("2 free", () -> client.semaphore(name).availablePermits() + " free");
        looks.put(
                "Optional[1 held]",
                () -> client.admin().describe(name).map(found -> found.holders().size() + " held"));
        looks.put(
                "all released: false", () -> "all released: " + client.admin().awaitReleased(destroyed, Duration.ZERO));
        looks.forEach((truth, look) -> {
            Attempt<Object> attempt = Attempt.of(tck, "a look while the backend answers with " + kind, () -> {
                try {
                    return look.call().toString();
                } catch (BackendAccessException | IncompatibleStateException e) {
                    return truth;
                }
            });
            if (!attempt.ended().failed()) {
                assertThat(attempt.value())
                        .as("what is seen while the backend answers with %s", kind)
                        .isEqualTo(truth);
            }
        });
    }

    @Test
    @Rule("6.6")
    void errorsThatOutlastTheValidityLoseThePermit(TckFixture tck) throws Exception {
        if (!tck.has(Capability.LEASE)) {
            throw new TestAbortedException("LEASE is not declared: what is not renewed is not lost");
        }
        ServerControl server = server(tck);
        String kind = server.errors().get(0);
        String name = tck.uniqueName();
        SemaphoreClient client = tck.own(server.connect(ClientSpec.plain(), server.address()));
        client.admin().create(name, 1);
        Watched held = new Watched(tck, tck.take(client.semaphore(name), 1).get(0));
        server.beginErrors(kind);
        try {
            Duration bound = Duration.ofNanos(
                            Math.max(0, held.permit().validUntil().nanosFrom(System.nanoTime())))
                    .plus(tck.guarantees().callBound());
            tck.await(
                    "a permit that cannot be renewed for longer than its validity is not valid any more",
                    bound,
                    () -> !held.permit().isValid());
            held.awaitTold(tck.guarantees().lossNoticeBound());
        } finally {
            server.endErrors(kind);
        }
        assertThat(held.permit().verify()).isEqualTo(Verification.LOST);
        assertThat(held.losses()).as("losses reported").hasSize(1);
        assertThat(held.losses().get(0).cause())
                .as("the cause that the news gives of a permit that could not be renewed")
                .isIn(LossCause.NOT_RENEWED_IN_TIME, LossCause.SESSION_ENDED);
        held.end();
        held.permit().close();
        new Observer(tck, client.semaphore(name)).awaitFree(1, "the slot is free when the errors are over");
        Observer.assertWorks(tck, client.semaphore(name));
    }
}
