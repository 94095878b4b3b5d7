package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentException;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Holds permits in another process, which is killed or stopped meanwhile, and records it. For one thread. */
final class FaultyHolder {
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

    private final TckFixture tck;
    private final String name;
    private final HistoryRecorder recorder;
    private final Random random;
    private @Nullable Agent agent;
    private int lives;

    FaultyHolder(TckFixture tck, String name, HistoryRecorder recorder, Random random) {
        this.tck = tck;
        this.name = name;
        this.recorder = recorder;
        this.random = random;
    }

    private Agent agent() {
        Agent living = agent;
        if (living == null) {
            living = tck.agent();
            agent = living;
            lives++;
        }
        return living;
    }

    private String process() {
        return "agent" + lives;
    }

    /** Kills a process that holds a permit; false if it did not get one. */
    boolean isKilled() {
        Agent doomed = agent();
        Optional<AgentPermits> held = doomed.acquire(name, 1, LONGEST_WAIT);
        held.ifPresent(this::recordGrant);
        Pause.millis(random.nextInt(20));
        long before = System.nanoTime();
        doomed.kill9();
        recorder.add(operation(Kind.DEATH, before, System.nanoTime(), List.of(), Operation.NEVER));
        agent = null;
        return held.isPresent();
    }

    /** Stops a process that holds a permit, at times for longer than it is valid; false if it did not get one. */
    boolean isStopped() {
        Agent sleeper = agent();
        Optional<AgentPermits> held = sleeper.acquire(name, 1, LONGEST_WAIT);
        if (held.isEmpty()) {
            return false;
        }
        List<HeldSlot> slots = recordGrant(held.get());
        sleeper.stop();
        Pause.millis(pause(held.get()));
        sleeper.resume();
        long asked = System.nanoTime();
        boolean valid = sleeper.state(held.get()).valid();
        if (!valid) {
            tck.reached(Sometimes.STOPPED_BEYOND_VALIDITY);
        }
        release(sleeper, held.get());
        long sureUntil = valid ? asked : Math.min(asked, held.get().validUntil());
        recorder.add(operation(Kind.RELEASE, asked, System.nanoTime(), slots, sureUntil));
        return true;
    }

    private static void release(Agent sleeper, AgentPermits held) {
        try {
            sleeper.release(held);
        } catch (AgentException e) {
            // What it says of a permit that is long lost is not the matter here.
        }
    }

    private long pause(AgentPermits held) {
        boolean beyond = tck.has(Capability.LEASE) && random.nextBoolean();
        long shortPause = tck.histories().faultMillis(random);
        return beyond ? Duration.ofNanos(held.validUntil() - held.returned()).toMillis() + shortPause : shortPause;
    }

    private List<HeldSlot> recordGrant(AgentPermits permits) {
        long epoch = permits.fences().isEmpty()
                ? HeldSlot.NO_EPOCH
                : permits.fences().get(0).epoch();
        List<HeldSlot> slots = List.of(recorder.held(permits.slots().get(0), epoch));
        recorder.add(operation(Kind.ACQUIRE, permits.invoked(), permits.returned(), slots, permits.validUntil()));
        return slots;
    }

    private Operation operation(Kind kind, long invoked, long returned, List<HeldSlot> slots, long sureUntil) {
        return new Operation(process(), kind, invoked, returned, Outcome.OK, slots.size(), slots, sureUntil);
    }
}
