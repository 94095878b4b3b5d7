package io.github.distributedsemaphore.tck.faults;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 3 while the server is stopped with SIGSTOP, or restarts. */
@Section
public abstract class StoppedServerRules {
    /** For subclasses. */
    protected StoppedServerRules() {}

    @Test
    @Rule("3.9")
    void aTimeOutIsKeptWhileTheServerIsStopped(TckFixture tck) throws Exception {
        tck.inTime(() -> new CallersTime(tck).timeOuts(durable(Outage.ofServer(tck))));
    }

    @Test
    @Rule("3.10")
    void anInterruptEndsAWaitWhileTheServerIsStopped(TckFixture tck) throws Exception {
        tck.inTime(() -> new CallersTime(tck).interrupts(durable(Outage.ofServer(tck))));
    }

    @Test
    @Rule("3.13")
    void waitersRideOutAServerThatIsStopped(TckFixture tck) {
        new CallersPatience(tck).ridesOut(durable(Outage.ofServer(tck)));
    }

    @Test
    @Rule("3.13")
    void waitersRideOutARestart(TckFixture tck) {
        new CallersPatience(tck).ridesOut(durable(Outage.restart(tck)));
    }

    @Test
    @Rule("3.14")
    void callersThatGaveUpWhileTheServerWasStoppedHoldNothingAfterIt(TckFixture tck) {
        new CallersTime(tck).leavesNothingForLong(durable(Outage.ofServer(tck)));
    }

    /** What a restart removes nobody can wait for. */
    private static Outage durable(Outage outage) {
        if (outage.restarts() && !outage.observer().guarantees().has(Capability.DURABLE_STATE)) {
            throw new TestAbortedException("DURABLE_STATE is not declared: a restart removes what is waited for");
        }
        return outage;
    }
}
