package io.github.distributedsemaphore.tck.watch;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A permit whose word about itself is noted all the time: until when it said to be valid, and which losses were reported. */
public final class Watched {
    private final TckFixture tck;
    private final Permit permit;
    private final long since = System.nanoTime();
    private final List<PermitLoss> losses = new CopyOnWriteArrayList<>();
    private final Task<Long> watch;
    private volatile boolean over;

    public Watched(TckFixture tck, Permit permit) {
        this.tck = tck;
        this.permit = permit;
        permit.onLost(losses::add);
        this.watch = tck.spawn("watch over a permit", this::lastValid);
    }

    /** Looks before it asks for the time, so that no instant is later than the permit said. */
    private long lastValid() {
        long last = since;
        while (!over) {
            long asked = System.nanoTime();
            if (permit.isValid()) {
                last = asked;
            }
            Pause.millis(1);
        }
        return last;
    }

    public Permit permit() {
        return permit;
    }

    public List<PermitLoss> losses() {
        return losses;
    }

    public void awaitTold(Duration bound) {
        tck.await("a holder that was cut off is told of its loss", bound, () -> !losses.isEmpty());
    }

    public void end() {
        over = true;
        watch.result();
    }

    /** Shows that it did not say to be valid for longer than declared after somebody else had the slot. */
    public void assertNoOverlap(Fault fault, long granted) {
        Exposure declared = tck.guarantees().exposure(fault);
        declared.longest()
                .ifPresent(longest ->
                        awaitInvalid(granted + longest.plus(tck.quiet()).toNanos()));
        over = true;
        Duration overlap = Duration.ofNanos(Math.max(0, watch.result() - granted));
        if (fault == Fault.LINK_CUT) {
            tck.measure(Bound.LINK_EXPOSURE, overlap.toNanos());
        }
        assertThat(overlap)
                .as("how long a holder said to be valid after its slot was granted to another, by %s", fault)
                .matches(declared::covers, "is within the declared exposure: " + declared);
    }

    private void awaitInvalid(long end) {
        while (permit.isValid() && end - System.nanoTime() > 0) {
            Pause.millis(1);
        }
    }
}
