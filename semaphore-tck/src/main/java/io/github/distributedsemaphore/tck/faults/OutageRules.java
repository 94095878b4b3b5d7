package io.github.distributedsemaphore.tck.faults;

import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Section 3 while the link keeps silent: a caller's time is the caller's, and waiters ride out what passes. */
@Section
public abstract class OutageRules {
    /** For subclasses. */
    protected OutageRules() {}

    private static void onEachLink(TckFixture tck, Consumer<Outage> rule) throws Exception {
        for (Outage outage : Outage.ofLink(tck)) {
            tck.inTime(() -> rule.accept(outage));
        }
    }

    @Test
    @Rule("3.9")
    void aTimeOutIsKeptWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::timeOuts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsAWaitWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::interrupts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsTheWaitForRetiredHoldersWhileTheLinkIsSilent(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::interruptOfAwaitReleased);
    }

    @Test
    @Rule("3.11")
    void aCallThatIsStuckHoldsUpNobodyElsesTimeOut(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::others);
    }

    @Test
    @Rule("3.12")
    void closingAClientWhileTheLinkIsSilentEndsItsWaitersAtOnce(TckFixture tck) throws Exception {
        tck.inTime(() -> new CallersTime(tck).closing(Outage.stalled(tck)));
    }

    @Test
    @Rule("3.13")
    void waitersRideOutASilentLink(TckFixture tck) {
        new CallersPatience(tck).ridesOut(Outage.stalled(tck));
    }

    @Test
    @Rule("3.13")
    void waitersGiveUpAfterTheirPatience(TckFixture tck) {
        new CallersPatience(tck).givesUp(Outage.stalled(tck));
    }

    @Test
    @Rule("3.13")
    void theWaitForRetiredHoldersRidesOutASilentLink(TckFixture tck) {
        new CallersPatience(tck).awaitReleasedRidesOut(Outage.stalled(tck));
    }

    @Test
    @Rule("3.14")
    void callersThatGaveUpDuringASilenceHoldNothingAfterIt(TckFixture tck) throws Exception {
        onEachLink(tck, new CallersTime(tck)::leavesNothing);
        new CallersTime(tck).leavesNothingForLong(Outage.halfOpen(tck));
    }
}
