package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.tck.fixture.Conservation;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Violation;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.report.HistoryFigures;
import io.github.distributedsemaphore.tck.run.FaultShape;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckHistories;
import io.github.distributedsemaphore.tck.watch.Observer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;

/** Records what six threads on two clients do while one kind of fault strikes again and again, and judges it. */
public final class FaultHistory {
    static final int LIMIT = 3;

    private static final int WORKERS = 6;

    private final TckFixture tck;
    private final FaultShape shape;
    private final HistoryRecorder recorder;
    /** One for each client, whose processes have its name: what a fault of a link explains depends on whose link it was. */
    private final List<HistoryRecorder> clients = new ArrayList<>();

    private final Random random;
    private final Traffic traffic = new Traffic();
    private final AtomicBoolean over = new AtomicBoolean();
    private final List<HistoryWindows.Span> struck = new ArrayList<>();
    /** The client that each of them struck; {@link FaultStrikes#EVERYBODY} for all. */
    private final List<Integer> victims = new ArrayList<>();

    FaultHistory(TckFixture tck, FaultShape shape) {
        this.tck = tck;
        this.shape = shape;
        this.recorder = tck.recorder("x");
        this.random = new Random(tck.random().nextLong());
    }

    void run() throws Exception {
        FaultScene scene = FaultScene.of(tck, shape);
        FaultStrikes strikes = new FaultStrikes(tck, shape, scene, recorder, random, traffic);
        long start = System.nanoTime();
        List<Task<Boolean>> workers = startWorkers(scene);
        Pause.millis(tck.histories().calm().toMillis());
        tck.await(
                "before the first fault permits are taken, all at once too",
                tck.patience(),
                () -> traffic.reached(tck.histories().leastGrantsWhenCalm(), LIMIT));
        long disturbed = System.nanoTime();
        disturb(strikes);
        over.set(true);
        tck.await(
                "the workers end when their calls do",
                tck.guarantees().callBound().plus(tck.patience()),
                () -> workers.stream().allMatch(Task::isDone));
        workers.forEach(Task::result);
        Duration length = Duration.ofNanos(System.nanoTime() - start);
        History history = recorder.history(LIMIT);
        for (HistoryRecorder client : clients) {
            history = history.with(client.history(LIMIT));
        }
        judge(history, length, disturbed);
        new Observer(tck, scene.calm().semaphore(scene.name()))
                .awaitFree(LIMIT, "after the faults all permits are free");
        Conservation.assertFree(scene.calm().semaphore(scene.name()), LIMIT, tck.patience());
        scene.calm().admin().destroy(scene.name());
    }

    private List<Task<Boolean>> startWorkers(FaultScene scene) {
        List<Task<Boolean>> workers = new ArrayList<>();
        for (int i = 0; i < scene.clients().size(); i++) {
            clients.add(tck.recorder(prefix(i)));
        }
        for (int i = 0; i < WORKERS; i++) {
            int client = i % scene.clients().size();
            DistributedSemaphore semaphore = scene.clients().get(client).semaphore(scene.name());
            FaultWorker worker = new FaultWorker(
                    semaphore, client, clients.get(client), new Random(random.nextLong()), traffic, over);
            workers.add(tck.spawn("worker " + i, worker::work));
        }
        return workers;
    }

    /** Brings about fault after fault until the time is over, and goes on until one had an effect. */
    private void disturb(FaultStrikes strikes) throws InterruptedException {
        TckHistories plan = tck.histories();
        long start = System.nanoTime();
        int tried = 0;
        while (System.nanoTime() - start < plan.length().toNanos() || (struck.isEmpty() && tried < 20)) {
            Pause.millis(plan.gapMillis(random));
            tried++;
            traffic.beginFault();
            long begun = System.nanoTime();
            if (strikes.strike()) {
                struck.add(new HistoryWindows.Span(begun, System.nanoTime()));
                victims.add(strikes.victim());
                shape.reaches().forEach(tck::reached);
            }
            traffic.endFault();
        }
        strikes.end();
        if (struck.isEmpty()) {
            throw new FaultMissedException(shape + " had no effect in " + tried + " attempts; tck.seed=" + tck.seed());
        }
        Pause.millis(200);
    }

    /** Refusals are not judged: what failed on its way may have been granted for a while. */
    private void judge(History history, Duration length, long disturbed) {
        Exposure exposure =
                shape.fault().map(fault -> tck.guarantees().exposure(fault)).orElse(Exposure.NONE);
        List<Violation> violations = HistoryChecks.violationsButRefusals(
                history,
                tck.has(Capability.FENCING),
                (process, from, to) -> exposure.allowsOverlap()
                        && to != Operation.NEVER
                        && exposure.covers(Duration.ofNanos(to - from))
                        && isStruck(process, from, exposure));
        if (shape == FaultShape.RESIZED && violations.isEmpty()) {
            violations = tck.lossesWithoutFault(history);
        }
        HistoryFigures figures = HistoryFigures.of(shape.name(), struck.size(), length, history, violations.size());
        tck.measure(figures);
        tck.expect(shape.expects(tck.guarantees()));
        tck.reached(history);
        tck.assertNone("under " + shape, shape.name(), history, struck, violations);
        tck.show(shape.name(), history, struck, violations);
        requireMeaning(history, figures, disturbed);
    }

    private static String prefix(int client) {
        return "w" + client + "-";
    }

    /** Whether a fault that a process met had begun by then, and was over for no longer than two may hold because of it. */
    private boolean isStruck(String process, long instant, Exposure exposure) {
        for (int i = 0; i < struck.size(); i++) {
            HistoryWindows.Span span = struck.get(i);
            boolean met = victims.get(i) == FaultStrikes.EVERYBODY || process.startsWith(prefix(victims.get(i)));
            if (met && instant >= span.from() && exposure.covers(Duration.ofNanos(Math.max(0, instant - span.to())))) {
                return true;
            }
        }
        return false;
    }

    /** A run counts only if it could have failed: as many as may did hold, and there was something to disturb. */
    private void requireMeaning(History history, HistoryFigures figures, long disturbed) {
        long before = history.operations().stream()
                .filter(operation -> operation.isGrant() && operation.returned() < disturbed)
                .count();
        long least = tck.histories().leastGrantsWhenCalm();
        if (figures.mostHeld() < LIMIT || before < least) {
            throw new FaultMissedException(
                    "the history proves nothing: " + before + " grants before the first fault where it must be " + least
                            + ", at most " + figures.mostHeld() + " of " + LIMIT + " held at once; " + figures.line());
        }
    }
}
