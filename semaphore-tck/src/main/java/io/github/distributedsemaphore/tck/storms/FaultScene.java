package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.run.FaultShape;
import io.github.distributedsemaphore.tck.run.FaultShape.Place;
import java.util.List;
import java.util.Optional;
import org.opentest4j.TestAbortedException;

/**
 * Where a history takes place.
 *
 * @param name the semaphore
 * @param calm a client that no fault concerns but those of the server
 * @param clients the clients of the workers
 * @param routes their links, where these are disturbed
 * @param server the server, where it is disturbed
 */
record FaultScene(
        String name,
        SemaphoreClient calm,
        List<SemaphoreClient> clients,
        List<Route> routes,
        Optional<ServerControl> server) {

    static FaultScene of(TckFixture tck, FaultShape shape) {
        if (shape.place() == Place.SERVER) {
            return atServer(tck, shape);
        }
        if (shape.place() == Place.LINK) {
            List<Route> routes = List.of(tck.route(), tck.route());
            List<SemaphoreClient> clients = routes.stream().map(Route::client).toList();
            return new FaultScene(tck.create(FaultHistory.LIMIT), tck.home(), clients, routes, Optional.empty());
        }
        if (shape == FaultShape.HOLDER_KILLED && !tck.has(Capability.CRASH_RELEASE)) {
            throw new TestAbortedException("CRASH_RELEASE is not declared: each crash would take a slot for good");
        }
        // A slot that was removed may pass on within a client for so long as it need not have noticed.
        ClientSpec spec = shape == FaultShape.RESIZED ? ClientSpec.plain().with("handOffs", "0") : ClientSpec.plain();
        List<SemaphoreClient> clients = List.of(tck.client(spec), tck.client(spec));
        return new FaultScene(tck.create(FaultHistory.LIMIT), tck.home(), clients, List.of(), Optional.empty());
    }

    private static FaultScene atServer(TckFixture tck, FaultShape shape) {
        ServerControl server = tck.server();
        if (shape == FaultShape.SERVER_ERRORS && server.errors().isEmpty()) {
            throw new HookMissingException("ServerControl.errors");
        }
        if (shape != FaultShape.SERVER_ERRORS && !tck.has(Capability.DURABLE_STATE)) {
            throw new TestAbortedException("DURABLE_STATE is not declared: a restart ends the semaphore");
        }
        String name = tck.uniqueName();
        List<SemaphoreClient> clients = List.of(connect(tck, server), connect(tck, server), connect(tck, server));
        clients.get(0).admin().create(name, FaultHistory.LIMIT);
        return new FaultScene(name, clients.get(0), clients.subList(1, 3), List.of(), Optional.of(server));
    }

    private static SemaphoreClient connect(TckFixture tck, ServerControl server) {
        return tck.own(server.connect(ClientSpec.plain(), server.address()));
    }
}
