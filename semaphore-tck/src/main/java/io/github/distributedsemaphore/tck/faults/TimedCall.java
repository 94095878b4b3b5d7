package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * A call on a thread of its own, and whether it ends when its caller wants it: at most a tenth of a second after its time-out or its
 * interrupt, less what the machine itself stood still.
 */
final class TimedCall {
    /** Enough for a call to be under way. */
    static final Duration SOON = Duration.ofMillis(30);

    /** A time-out that nobody waits for. */
    static final Duration LONG = Duration.ofSeconds(60);

    private final TckFixture tck;
    private final String what;
    private final Task<Ended> task;

    private TimedCall(TckFixture tck, String what, Task<Ended> task) {
        this.tck = tck;
        this.what = what;
        this.task = task;
    }

    /** How a call ended. */
    record Ended(@Nullable Object value, @Nullable Exception failure, long begun, long ended) {
        String outcome() {
            return String.valueOf(failure == null ? value : failure);
        }
    }

    /** Starts a call. */
    static TimedCall start(TckFixture tck, String what, Callable<?> call) {
        return new TimedCall(tck, what, tck.spawn(what, () -> {
            long begun = System.nanoTime();
            try {
                Object value = call.call();
                return new Ended(value, null, begun, System.nanoTime());
            } catch (Exception e) {
                return new Ended(null, e, begun, System.nanoTime());
            }
        }));
    }

    Task<Ended> task() {
        return task;
    }

    String what() {
        return what;
    }

    /** Waits for the end, and shows that it came soon after a time that counts from the beginning of the call. */
    Ended endsAfter(Duration time) {
        Ended ended = ended();
        assertInTime("its time-out of " + time.toMillis() + " ms", ended.begun() + time.toNanos(), ended);
        return ended;
    }

    /** Waits for the end, and shows that it came soon after an instant. */
    Ended endsAt(String event, long instant) {
        Ended ended = ended();
        assertInTime(event, instant, ended);
        return ended;
    }

    /** Shows that the call goes on for a moment. That it is blocked the state of a thread does not tell: it may read. */
    void waitsOn() {
        tck.proveNothing(what + " waits on while the backend is away", SOON, () -> {
            assertGoesOn();
            return true;
        });
    }

    void assertGoesOn() {
        if (task.isDone()) {
            throw new AssertionError(what + " does not wait on while the backend is away: it ended with "
                    + task.result().outcome());
        }
    }

    private Ended ended() {
        tck.await(
                what + " ends after its time, although the backend does not answer",
                tck.guarantees().callBound().multipliedBy(3),
                task::isDone);
        return task.result();
    }

    private void assertInTime(String event, long due, Ended ended) {
        long late = ended.ended() - due;
        if (late > 0) {
            late -= tck.stoodStill(due, ended.ended());
        }
        tck.measure(Bound.TIMEOUT_SLACK, Math.max(0, late));
        if (late > tck.scaled(TckFixture.MOST_LATE).toNanos()) {
            String message = what + " after " + event + " came "
                    + Duration.ofNanos(late).toMillis() + " ms late, it may be "
                    + tck.scaled(TckFixture.MOST_LATE).toMillis() + " ms; it ended with " + ended.outcome();
            throw tck.late(message, ended.ended());
        }
    }

    /** Shows that a call ended without a permit, and in one of the ways in which it may. */
    void assertNothing(Ended ended) {
        if (ended.value() instanceof Permit permit) {
            permit.close();
        } else if (ended.value() instanceof PermitGroup group) {
            group.close();
        } else if (ended.value() instanceof Optional<?> optional && optional.isPresent()) {
            assertNothing(new Ended(optional.get(), null, ended.begun(), ended.ended()));
        } else if (Optional.empty().equals(ended.value()) || Boolean.FALSE.equals(ended.value())) {
            return;
        } else {
            assertThat(ended.failure())
                    .as("how %s ends whose time is over while the backend does not answer", what)
                    .isInstanceOfAny(
                            SemaphoreTimeoutException.class,
                            BackendUnavailableException.class,
                            OutcomeUnknownException.class);
            return;
        }
        throw new AssertionError(what + " was granted something while the backend does not answer");
    }
}
