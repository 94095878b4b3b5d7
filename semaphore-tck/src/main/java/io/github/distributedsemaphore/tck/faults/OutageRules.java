package io.github.distributedsemaphore.tck.faults;

import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** Section 3 while the link keeps silent: a caller's time is the caller's, and waiters ride out what passes. */
@Section
public abstract class OutageRules {
    /** For subclasses. */
    protected OutageRules() {}

    private static void onEachLink(TckFixture tck, BiConsumer<CallersTime, Outage> rule) {
        for (Outage outage : Outage.ofLink(tck)) {
            on(tck, outage, rule);
        }
    }

    static void on(TckFixture tck, Outage outage, BiConsumer<CallersTime, Outage> rule) {
        rule.accept(new CallersTime(tck), outage);
    }

    @Test
    @Rule("3.9")
    void aTimeOutIsKeptWhileTheLinkIsSilent(TckFixture tck) {
        onEachLink(tck, CallersTime::timeOuts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsAWaitWhileTheLinkIsSilent(TckFixture tck) {
        onEachLink(tck, CallersTime::interrupts);
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsTheWaitForRetiredHoldersWhileTheLinkIsSilent(TckFixture tck) {
        onEachLink(tck, CallersTime::interruptOfAwaitReleased);
    }

    @Test
    @Rule("3.11")
    void aCallThatIsStuckHoldsUpNobodyElsesTimeOut(TckFixture tck) {
        onEachLink(tck, CallersTime::others);
    }

    @Test
    @Rule("3.12")
    void closingAClientWhileTheLinkIsSilentEndsItsWaitersAtOnce(TckFixture tck) {
        on(tck, Outage.stalled(tck), CallersTime::closing);
    }

    @Test
    @Rule("3.13")
    void waitersRideOutASilentLink(TckFixture tck) {
        on(tck, Outage.stalled(tck), CallersTime::ridesOut);
    }

    @Test
    @Rule("3.13")
    void waitersGiveUpAfterTheirPatience(TckFixture tck) {
        on(tck, Outage.stalled(tck), CallersTime::givesUp);
    }

    @Test
    @Rule("3.13")
    void theWaitForRetiredHoldersRidesOutASilentLink(TckFixture tck) {
        on(tck, Outage.stalled(tck), CallersTime::awaitReleasedRidesOut);
    }

    @Test
    @Rule("3.14")
    void callersThatGaveUpDuringASilenceHoldNothingAfterIt(TckFixture tck) {
        onEachLink(tck, CallersTime::leavesNothing);
        on(tck, Outage.halfOpen(tck), CallersTime::leavesNothingForLong);
    }
}
