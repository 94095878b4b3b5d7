package io.github.distributedsemaphore.tck.storms;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Conservation;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Observer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Everything at once, and the recorded history is judged: rule 1.12 with faults, rules of section 8 with changes. */
@Section
public abstract class StormRules {
    private static final int LIMIT = 3;
    private static final int FEW_GRANTS = 10;

    /** A change is several steps on some backends, and a busy machine makes few of them in a quick run. */
    private static final int FEW_CHANGES = 3;
    /** A backend that is slow to come back is given more of the storm, so that it says something. */
    private static final int MOST_PLANS = 5;

    private static final Duration LONG_DETECTION = Duration.ofSeconds(5);

    /** For subclasses. */
    protected StormRules() {}

    /** Where a slot whose grant was not answered stays taken for longer than the storm lasts, one of them is not missed. */
    private static int wanted(TckFixture tck) {
        return tck.guarantees().detectionMax().compareTo(LONG_DETECTION) > 0 ? LIMIT - 1 : LIMIT;
    }

    @Test
    @Rule({"1.12", "13.7"})
    void underARandomPlanOfFaultsNeverMoreThanTheLimitHold(TckFixture tck, TestReporter reporter) throws Exception {
        if (exposed(tck)) {
            throw new HookMissingException("adapter without exposure: an overlap would prove nothing");
        }
        ServerControl server = tck.server();
        List<Route> routes = List.of(tck.route(server), tck.route(server));
        SemaphoreClient calm = tck.own(server.connect(ClientSpec.plain(), server.address()));
        String name = tck.uniqueName();
        calm.admin().create(name, LIMIT);
        HistoryRecorder recorder = tck.recorder("storm");
        AtomicBoolean over = new AtomicBoolean();
        Traffic traffic = new Traffic();
        List<Task<Boolean>> workers = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int client = i % 2;
            DistributedSemaphore semaphore = routes.get(client).client().semaphore(name);
            Random random = new Random(tck.random().nextLong());
            FaultWorker worker = new FaultWorker(semaphore, client, recorder, random, traffic, over);
            workers.add(tck.spawn("storm worker " + i, worker::work));
        }
        StringBuilder plan = new StringBuilder("seed " + tck.seed() + ":");
        for (int plans = 0; plans == 0 || (plans < MOST_PLANS && !traffic.reached(FEW_GRANTS, wanted(tck))); plans++) {
            plan.append(disturb(tck, server, routes, traffic));
        }
        over.set(true);
        workers.forEach(Task::result);
        History history = recorder.history(LIMIT);
        reporter.publishEntry("storm", plan + ", " + history.operations().size() + " operations");
        tck.reached(history);
        assertSafe(tck, "storm", history, tck.has(Capability.FENCING));
        assertMeaning(history, wanted(tck));
        new Observer(tck, calm.semaphore(name)).awaitFree(LIMIT, "after the storm all permits are free");
        Conservation.assertFree(calm.semaphore(name), LIMIT, tck.patience());
    }

    /** Changes meet calls of all kinds at each of their steps, and what a client knew of the semaphore before. */
    @Test
    @Rule({"8.7", "8.13", "8.15"})
    void whileTheSemaphoreIsChangedAtRandomASlotHasOneHolder(TckFixture tck) {
        String name = tck.create(LIMIT);
        int millis = tck.rounds(50_000, 4_000);
        Workload workload = Workload.of(LIMIT, 9, tck.random().nextLong())
                .withLargest(LIMIT)
                .withRounds(Integer.MAX_VALUE, millis)
                .withTimes(1_000, 20)
                .untilHeld(2)
                .withFailures();
        HistoryRecorder recorder = tck.recorder("changed");
        List<DistributedSemaphore> semaphores = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            semaphores.add(tck.client().semaphore(name));
        }
        Task<History> contention = tck.spawn("workload", () -> workload.run(semaphores, recorder));
        List<Task<Integer>> administrators = new ArrayList<>();
        for (SemaphoreClient client : List.of(tck.home(), tck.client())) {
            Random random = new Random(tck.random().nextLong());
            administrators.add(
                    tck.spawn("administrator", () -> change(client.admin(), name, random, contention::isDone)));
        }
        tck.await(
                "the workload ends when its time is over",
                workload.longest().plus(tck.guarantees().callBound()).plus(tck.patience()),
                contention::isDone);
        History history = contention.result();
        tck.reached(history);
        assertThat(administrators.stream().mapToInt(Task::result).sum())
                .as("changes meanwhile")
                .isGreaterThan(FEW_CHANGES);
        assertSafe(tck, "changed", history, tck.has(Capability.DURABLE_FENCING));
        // The limit is three for a part of the time only.
        assertMeaning(history, 2);
        tck.home().admin().ensure(name, LIMIT);
        tck.assertFree(name, LIMIT);
    }

    private static int change(SemaphoreAdmin admin, String name, Random random, BooleanSupplier over) {
        int changes = 0;
        while (!over.getAsBoolean()) {
            int limit = 1 + random.nextInt(LIMIT);
            int way = random.nextInt(6);
            try {
                switch (way) {
                    case 0 -> admin.destroy(name);
                    case 1 -> admin.resize(name, limit);
                    case 2 -> ensure(admin, name, limit);
                    case 3 -> assertSound(admin.describe(name), admin.status(name));
                    default -> admin.create(name, limit);
                }
                changes += way == 3 ? 0 : 1;
            } catch (NoSuchSemaphoreException | LimitConflictException e) {
                // The other administrator was first.
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                // Others changed it all the time until the time of the call was over.
            }
            Pause.millis(random.nextInt(5));
        }
        return changes;
    }

    /** It is repeated until it is done, whatever others do meanwhile. */
    private static void ensure(SemaphoreAdmin admin, String name, int limit) {
        try {
            admin.ensure(name, limit);
        } catch (NoSuchSemaphoreException | LimitConflictException e) {
            throw new AssertionError("ensure failed because others changed the semaphore: " + e, e);
        }
    }

    private static void assertSound(Optional<SemaphoreDescription> description, Optional<SemaphoreStatus> status) {
        description.ifPresent(
                seen -> assertThat(seen.free()).as("free permits of %s", seen).isBetween(0, seen.limit()));
        status.ifPresent(
                seen -> assertThat(seen.free()).as("free permits of %s", seen).isBetween(0, seen.limit()));
    }

    /** Refusals are not judged: what failed on its way may have been granted for a while. */
    private static void assertSafe(TckFixture tck, String title, History history, boolean fencing) {
        tck.assertNone(
                "in the storm", title, history, List.of(), HistoryChecks.violationsButRefusals(history, fencing));
    }

    private static boolean exposed(TckFixture tck) {
        return tck.guarantees().exposure(Fault.LINK_CUT).allowsOverlap()
                || tck.guarantees().exposure(Fault.BACKEND_RESTART).allowsOverlap();
    }

    private static void assertMeaning(History history, int held) {
        long grants = history.operations().stream()
                .filter(operation -> operation.isGrant())
                .count();
        if (grants < FEW_GRANTS || HistoryChecks.mostHeld(history) < held) {
            throw new FaultMissedException("the storm proves nothing: " + grants + " grants, at most "
                    + HistoryChecks.mostHeld(history) + " of " + LIMIT + " held at once");
        }
    }

    /** Brings one fault after the other, each when the last has ended; the restart comes once in a quick run. */
    private static String disturb(TckFixture tck, ServerControl server, List<Route> routes, Traffic traffic) {
        StringBuilder plan = new StringBuilder();
        Random random = new Random(tck.random().nextLong());
        int steps = tck.rounds(60, 6);
        int restart = random.nextInt(steps);
        int struck = 0;
        for (int i = 0; i < steps; i++) {
            Pause.millis(50 + random.nextInt(150));
            Route route = routes.get(random.nextInt(routes.size()));
            int choice = i == restart || (tck.full() && random.nextInt(10) == 0) ? 4 : random.nextInt(4);
            traffic.beginFault();
            boolean strikes = strike(choice, route, server, random);
            traffic.endFault();
            struck += strikes ? 1 : 0;
            plan.append(' ')
                    .append(List.of("cut", "stall", "refuse", "lose", "restart").get(choice))
                    .append(strikes ? "" : "(in vain)");
        }
        if (2 * struck < steps) {
            throw new FaultMissedException("most faults of the storm had no effect: " + plan);
        }
        Pause.millis(200);
        return plan.toString();
    }

    private static boolean strike(int choice, Route route, ServerControl server, Random random) {
        return switch (choice) {
            case 0 -> FaultStrikes.cut(route, random.nextBoolean() ? Ending.RESET : Ending.FINISH);
            case 1 -> FaultStrikes.during(route.proxy().stall(), millis(random));
            case 2 -> FaultStrikes.refuse(route, millis(random));
            case 3 ->
                FaultStrikes.during(route.proxy().loseAnswer(1 + random.nextInt(5), Ending.RESET), millis(random));
            default -> {
                server.kill();
                server.start();
                yield true;
            }
        };
    }

    private static long millis(Random random) {
        return 20L + random.nextInt(200);
    }
}
