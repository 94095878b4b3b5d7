package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.run.FaultShape;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Brings about faults of one kind. For one thread. */
final class FaultStrikes {
    /** What strikes no client in particular. */
    static final int EVERYBODY = -1;

    private static final int HIGHEST_LIMIT = 5;

    private final TckFixture tck;
    private final FaultShape shape;
    private final FaultScene scene;
    private final HistoryRecorder recorder;
    private final Random random;
    private final Traffic traffic;
    private final FaultyHolder holder;
    private int victim = EVERYBODY;

    FaultStrikes(
            TckFixture tck,
            FaultShape shape,
            FaultScene scene,
            HistoryRecorder recorder,
            Random random,
            Traffic traffic) {
        this.tck = tck;
        this.shape = shape;
        this.scene = scene;
        this.recorder = recorder;
        this.random = random;
        this.traffic = traffic;
        this.holder = new FaultyHolder(tck, scene.name(), recorder, random);
    }

    /** Brings one about, from its beginning to its end; false if it met nothing. */
    boolean strike() throws InterruptedException {
        return switch (shape.place()) {
            case LINK -> strikeLink(random.nextInt(scene.routes().size()));
            case SERVER -> strikeServer(scene.server().orElseThrow());
            case PROCESS -> shape == FaultShape.HOLDER_KILLED ? holder.isKilled() : holder.isStopped();
            case NOWHERE -> resize(1 + random.nextInt(HIGHEST_LIMIT));
        };
    }

    /** Has everything be again as it was at the beginning. */
    void end() {
        if (shape == FaultShape.RESIZED) {
            tck.await("the limit is what it was", () -> resize(FaultHistory.LIMIT));
        }
    }

    /** Returns the client that the last one struck. */
    int victim() {
        return victim;
    }

    private boolean strikeLink(int client) {
        victim = client;
        Route route = scene.routes().get(client);
        return switch (shape) {
            case RESET -> cut(route, Ending.RESET);
            case FINISH -> cut(route, Ending.FINISH);
            case REFUSED -> refuse(route, tck.histories().faultMillis(random));
            case LONG_CUT -> isolate(route, client);
            case STALLED -> during(route.proxy().stall());
            case REQUESTS_LOST -> during(route.proxy().lose(Direction.REQUESTS));
            case ANSWERS_LOST -> during(route.proxy().lose(Direction.ANSWERS));
            case ANSWER_LOST -> during(route.proxy().loseAnswer(1 + random.nextInt(5), Ending.RESET));
            default -> during(route.proxy().delay(Duration.ofMillis(1), Duration.ofMillis(30), random));
        };
    }

    static boolean cut(Route route, Ending ending) {
        return route.proxy().cutAny(ending) > 0;
    }

    private boolean isolate(Route route, int client) {
        traffic.isolate(client);
        try {
            return refuse(
                    route,
                    tck.guarantees().detectionMax().toMillis() + tck.histories().faultMillis(random));
        } finally {
            traffic.endIsolation();
        }
    }

    static boolean refuse(Route route, long millis) {
        LinkFault refusal = route.proxy().refuse();
        boolean cut = cut(route, Ending.RESET);
        return during(refusal, millis) || cut;
    }

    private boolean during(LinkFault fault) {
        return during(fault, tck.histories().faultMillis(random));
    }

    static boolean during(LinkFault fault, long millis) {
        Pause.millis(millis);
        return fault.heal() > 0;
    }

    private boolean strikeServer(ServerControl server) {
        if (shape == FaultShape.SERVER_ERRORS) {
            List<String> kinds = server.errors();
            String kind = kinds.get(random.nextInt(kinds.size()));
            server.beginErrors(kind);
            Pause.millis(tck.histories().faultMillis(random));
            server.endErrors(kind);
            return true;
        }
        String before = server.incarnation();
        if (shape == FaultShape.SERVER_KILLED) {
            server.kill();
        } else {
            server.stop();
        }
        Pause.millis(tck.histories().faultMillis(random));
        server.start();
        return !server.incarnation().equals(before);
    }

    private boolean resize(int limit) {
        long invoked = System.nanoTime();
        Operation.Outcome outcome = Operation.Outcome.OK;
        try {
            scene.calm().admin().resize(scene.name(), limit);
        } catch (OutcomeUnknownException e) {
            outcome = Operation.Outcome.UNKNOWN;
        } catch (BackendUnavailableException e) {
            // Others changed the semaphore all the time until the time of the call was over. It did nothing.
            return false;
        }
        recorder.resized(limit, invoked, outcome);
        return outcome == Operation.Outcome.OK;
    }
}
