package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** Rules of sections 7 and 13 about a replica that takes over, with all that was written and with less. */
@Section
public abstract class FailOverRules {
    /** For subclasses. */
    protected FailOverRules() {}

    private static ServerControl.Replica replica(ServerControl server) {
        return server.replica().orElseThrow(() -> new HookMissingException("ServerControl.Replica"));
    }

    /** Clients find the replica where the server was, as behind an address that moves. */
    private static void moveTo(ServerControl server, ServerControl.Replica replica, Route route) {
        InetSocketAddress before = server.address();
        replica.promote();
        if (server.address().equals(before)) {
            throw new FaultMissedException("after the fail-over the server is where it was: " + before);
        }
        route.proxy().leadTo(server.address());
        // The old server may have ended them already.
        route.proxy().cutAny(Ending.RESET);
    }

    @Test
    @Rule({"13.8", "7.2"})
    void aFailOverThatLosesNothingKeepsHolders(TckFixture tck) throws Exception {
        ServerControl server = tck.server();
        try (ServerControl.Replica replica = replica(server)) {
            Route route = tck.route(server);
            String name = tck.uniqueName();
            SemaphoreClient client = route.client();
            client.admin().create(name, 1);
            Watched held = new Watched(tck, tck.take(client.semaphore(name), 1).get(0));
            SemaphoreClient watching = route.client();
            DistributedSemaphore other = watching.semaphore(name);
            replica.awaitCaughtUp();
            moveTo(server, replica, route);
            if (Observer.verified(tck, held.permit()) == Verification.HELD) {
                assertThat(held.losses())
                        .as("losses reported of a permit that is held")
                        .isEmpty();
                assertThat(refused(tck, watching, name))
                        .as("a slot that is held over a fail-over is refused to others")
                        .isTrue();
            } else {
                tck.await(
                        "a holder that a fail-over cost its slot is notified",
                        tck.guarantees().lossNoticeBound(),
                        () -> !held.losses().isEmpty());
                assertThat(held.permit().isValid())
                        .as("isValid of a permit that is lost over a fail-over")
                        .isFalse();
            }
            held.end();
            held.permit().close();
            Permit successor = new Observer(tck, other).takeOver("the slot is free after a release over a fail-over");
            assertFenced(tck, held.permit(), successor);
            successor.release();
            Observer.assertWorks(tck, client.semaphore(name));
        }
    }

    private static boolean refused(TckFixture tck, SemaphoreClient client, String name) {
        Attempt<Boolean> attempt = Attempt.of(tck, "tryAcquire", () -> {
                    Observer.assertAnswers(tck, client, name);
                    return client.semaphore(name).tryAcquire().isEmpty();
                })
                .endedWithin(Observer.settling(tck).multipliedBy(2));
        return attempt.value();
    }

    private static void assertFenced(TckFixture tck, Permit former, Permit successor) {
        if (tck.has(Capability.DURABLE_FENCING)) {
            assertThat(successor.fence().epoch())
                    .as("epoch after a fail-over, before it was %s", former.fence())
                    .isGreaterThan(former.fence().epoch());
        }
    }

    @Test
    @Rule({"13.8", "7.2"})
    void aFailOverThatLosesAGrantExposesNoMoreThanDeclared(TckFixture tck) throws Exception {
        ServerControl server = tck.server();
        try (ServerControl.Replica replica = replica(server)) {
            Route route = tck.route(server);
            String name = tck.uniqueName();
            SemaphoreClient client = route.client();
            client.admin().create(name, 1);
            Observer.assertWorks(tck, client.semaphore(name));
            DistributedSemaphore other = route.client().semaphore(name);
            Observer.assertWorks(tck, other);
            replica.awaitCaughtUp();
            replica.detach();
            Watched held = new Watched(tck, tck.take(client.semaphore(name), 1).get(0));
            moveTo(server, replica, route);
            Permit successor = new Observer(tck, other).takeOver("a slot of which the replica never heard is free");
            long granted = System.nanoTime();
            held.awaitTold(tck.guarantees()
                    .lossNoticeBound()
                    .plus(tck.guarantees().detectionMax())
                    .plus(tck.guarantees().callBound()));
            held.assertNoOverlap(Fault.FAIL_OVER, granted);
            assertThat(held.permit().release()).as("the late release").isEqualTo(ReleaseOutcome.WAS_LOST);
            tck.proveNothing(
                    "the late release leaves the successor alone", () -> successor.verify() == Verification.HELD);
            assertThat(held.losses()).as("losses reported").hasSize(1);
            assertFenced(tck, held.permit(), successor);
            successor.release();
            Observer.assertWorks(tck, client.semaphore(name));
        }
    }

    /** What the client finds as its own at the replica is a hold that it has released. */
    @Test
    @Rule({"13.8", "7.2"})
    void aFailOverThatLosesAReleaseRepeatsNoEpoch(TckFixture tck) throws Exception {
        ServerControl server = tck.server();
        try (ServerControl.Replica replica = replica(server)) {
            Route route = tck.route(server);
            String name = tck.uniqueName();
            SemaphoreClient client = route.client();
            client.admin().create(name, 1);
            Permit former = tck.take(client.semaphore(name), 1).get(0);
            replica.awaitCaughtUp();
            replica.detach();
            assertThat(former.release()).isEqualTo(ReleaseOutcome.RELEASED);
            moveTo(server, replica, route);
            Permit successor = new Observer(tck, client.semaphore(name))
                    .takeOver("a slot whose release the replica never heard of is free, or is its former holder's");
            assertFenced(tck, former, successor);
            successor.release();
            Observer.assertWorks(tck, client.semaphore(name));
        }
    }
}
