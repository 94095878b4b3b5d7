package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.TckRun;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of section 8 about administration whose answer is lost, and about what it leaves behind when it ends midway. */
@Section
public abstract class LostAdministrationRules {
    private static final int DESTROYS = 4;

    /** Mostly long beside what it takes to create a semaphore. */
    private static final Duration LATE = Duration.ofMillis(25);

    /** For subclasses. */
    protected LostAdministrationRules() {}

    @Test
    @Rule({"8.9", "13.4"})
    void administrationWhoseAnswerIsLostTakesEffectOnceAtMost(TckFixture tck) throws Exception {
        Route route = tck.route();
        SemaphoreAdmin admin = route.client().admin();
        admin.describe(tck.create(1));
        String created = tck.created(tck.uniqueName());
        LostAnswerRules.losingEachAnswer(tck, route, "create", losing -> {
            tck.home().admin().destroy(created);
            return change(tck, losing, created, 0, 2, "create", () -> admin.create(created, 2));
        });
        String resized = tck.create(2);
        LostAnswerRules.losingEachAnswer(tck, route, "resize", losing -> {
            tck.home().admin().resize(resized, 2);
            return change(tck, losing, resized, 2, 3, "resize", () -> {
                admin.resize(resized, 3);
                return true;
            });
        });
        LostAnswerRules.losingEachAnswer(tck, route, "destroy", losing -> {
            tck.home().admin().create(resized, 3);
            return change(tck, losing, resized, 3, 0, "destroy", () -> admin.destroy(resized));
        });
    }

    @Test
    @Rule({"8.12", "8.9", "13.4"})
    void whatADestroyLeavesThatEndsMidwayIsNoPartOfWhatIsMadeNext(TckFixture tck) throws Exception {
        if (tck.has(Capability.ATOMIC_ADMINISTRATION)) {
            throw new TestAbortedException("ATOMIC_ADMINISTRATION is declared: no destroy ends midway");
        }
        Route route = tck.route();
        SemaphoreAdmin admin = route.client().admin();
        String name = tck.create(3);
        admin.describe(name);
        TckRun.Janitor janitor = new TckRun.Janitor(tck.home());
        DistributedSemaphore known = tck.client().semaphore(name);
        // A destroy gets fewer answers than it sends requests, so greater steps lead to the first one that is lost.
        // A call makes its changes at its end, so the last answers come first.
        long before = route.proxy().messages(Direction.REQUESTS);
        admin.destroy(name);
        int most = (int) (route.proxy().messages(Direction.REQUESTS) - before);
        int lost = 0;
        int step = 1;
        for (int number = most; number > 0 && lost < tck.rounds(LostAnswerRules.MOST_ANSWERS, 12); number -= step) {
            janitor.create(name, 3);
            // So that this client knows free slots of it, and a higher one as the last.
            tck.take(known, 2).stream()
                    .sorted(Comparator.comparingInt(Permit::slot))
                    .forEach(Permit::release);
            LinkFault fault = route.proxy().loseAnswer(number, Ending.RESET);
            Attempt<Boolean> unused =
                    Attempt.of(tck, "destroy", () -> admin.destroy(name)).ended();
            lost += fault.heal() > 0 ? 1 : 0;
            step = lost > 0 ? 1 : 1 + number / 10;
            assertMadeAnew(tck, janitor, known, fault);
        }
        if (lost == 0) {
            throw new FaultMissedException("none of at most " + most + " answers to destroy was lost");
        }
    }

    /** Without its first slot there is no semaphore, although others may be left. */
    private static void assertMadeAnew(
            TckFixture tck, TckRun.Janitor janitor, DistributedSemaphore known, LinkFault fault) {
        String name = known.name();
        if (limit(tck, name) == 0) {
            assertThatThrownBy(
                            () -> known.tryAcquire().ifPresent(Permit::close),
                            "an attempt of a client that knew what was destroyed (%s)",
                            fault)
                    .isInstanceOf(NoSuchSemaphoreException.class);
            janitor.create(name, 1);
            assertThat(limit(tck, name))
                    .as("limit of what was made after a destroy whose answer was lost (%s)", fault)
                    .isEqualTo(1);
            tck.assertFree(name, 1);
        }
        janitor.destroy(name);
    }

    /** Between two steps of a destroy somebody may create the semaphore again. */
    @Test
    @Rule({"9.5", "8.12"})
    void whatIsCreatedWhileADestroyEndsIsListed(TckFixture tck) {
        if (!tck.has(Capability.LISTING) || !tck.has(Capability.ATOMIC_ADMINISTRATION)) {
            throw new TestAbortedException("LISTING and ATOMIC_ADMINISTRATION are not both declared");
        }
        Route route = tck.route();
        SemaphoreAdmin slow = route.client().admin();
        SemaphoreAdmin home = tck.home().admin();
        String name = tck.create(2);
        slow.describe(name);
        Duration late = late(tck);
        int met = 0;
        for (int round = 0; round < DESTROYS; round++) {
            LinkFault delay = route.proxy().delay(late, late, tck.random(), Direction.REQUESTS, Direction.ANSWERS);
            Task<Boolean> destroy = tck.spawn("destroy", () -> slow.destroy(name));
            tck.await(
                    "a semaphore that is destroyed is gone",
                    () -> home.status(name).isEmpty());
            met += home.create(name, 2) && !destroy.isDone() ? 1 : 0;
            assertThat(destroy.result())
                    .as("what a destroy says that nobody else did")
                    .isTrue();
            delay.heal();
            assertThat(home.names())
                    .as("the names, among which is one that was created while its destroy ended")
                    .contains(name);
            assertThat(home.status(name))
                    .as("the status of what was created while its destroy ended")
                    .contains(new SemaphoreStatus(name, 2, 2));
            tck.assertFree(name, 2);
        }
        if (met == 0) {
            throw new TestAbortedException("each destroy had ended when the semaphore was created again");
        }
    }

    /** Long beside what it takes here and now to create a semaphore, and short beside what a request may take. */
    private static Duration late(TckFixture tck) {
        String another = tck.created(tck.uniqueName());
        long since = System.nanoTime();
        tck.home().admin().create(another, 1);
        Duration several = Duration.ofNanos(System.nanoTime() - since).multipliedBy(4);
        Duration late = several.compareTo(LATE) > 0 ? several : LATE;
        return TckTiming.shorter(late, tck.guarantees().callBound().dividedBy(15));
    }

    private static LinkFault change(
            TckFixture tck,
            Supplier<LinkFault> losing,
            String name,
            int before,
            int after,
            String what,
            Callable<Boolean> call) {
        LinkFault fault = losing.get();
        Attempt<Boolean> attempt = Attempt.of(tck, what, call).ended();
        fault.heal();
        int limit = limit(tck, name);
        if (!attempt.failed()) {
            assertThat(limit).as("limit after a %s that succeeded", what).isEqualTo(after);
            assertThat(attempt.value())
                    .as("what a %s says that nobody else did (%s)", what, fault)
                    .isTrue();
        } else if (attempt.certainlyChangedNothing()) {
            assertThat(limit)
                    .as("limit after a %s of which was said that it changed nothing (%s; %s)", what, fault, attempt)
                    .isEqualTo(before);
        } else if (tck.has(Capability.ATOMIC_ADMINISTRATION)) {
            assertThat(limit)
                    .as(
                            "limit after a %s of unknown outcome, where ATOMIC_ADMINISTRATION is declared (%s)",
                            what, fault)
                    .isIn(before, after);
        } else {
            // It may have been broken off between two of its steps.
            assertThat(limit)
                    .as("limit after a %s of unknown outcome", what)
                    .isBetween(Math.min(before, after), Math.max(before, after));
        }
        tck.await(
                what + " works when the link is whole again",
                Observer.settling(tck),
                () -> !Attempt.of(tck, what + " again", call).ended().failed());
        assertThat(limit(tck, name))
                .as("limit after a %s that was repeated", what)
                .isEqualTo(after);
        return fault;
    }

    private static int limit(TckFixture tck, String name) {
        return tck.home()
                .admin()
                .describe(name)
                .map(SemaphoreDescription::limit)
                .orElse(0);
    }
}
