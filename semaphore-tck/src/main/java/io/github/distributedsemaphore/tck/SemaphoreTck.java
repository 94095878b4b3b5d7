package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.faults.BriefFaultRules;
import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.PauseRules;
import io.github.distributedsemaphore.tck.faults.RenewalRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.StallRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.faults.TrafficRules;
import io.github.distributedsemaphore.tck.faults.WakeUpRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.AccessRules;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.AsyncRules;
import io.github.distributedsemaphore.tck.rules.ClosingRules;
import io.github.distributedsemaphore.tck.rules.ContentionRules;
import io.github.distributedsemaphore.tck.rules.CrowdRules;
import io.github.distributedsemaphore.tck.rules.FairnessRules;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import io.github.distributedsemaphore.tck.rules.HygieneRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.InspectionRules;
import io.github.distributedsemaphore.tck.rules.InterruptRules;
import io.github.distributedsemaphore.tck.rules.LeavingRules;
import io.github.distributedsemaphore.tck.rules.LivenessRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.ResizeRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import io.github.distributedsemaphore.tck.rules.TaskRules;
import io.github.distributedsemaphore.tck.rules.TimeoutRules;
import io.github.distributedsemaphore.tck.rules.VerificationRules;
import io.github.distributedsemaphore.tck.storms.FaultHistoryRules;
import io.github.distributedsemaphore.tck.storms.StormRules;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/**
 * The whole kit. An adapter's test extends it and supplies a {@linkplain SemaphoreTckHarness harness}; the sections come
 * with it. One section alone is run by its tag, which is the name of its nested class in lower case, or by a test class
 * that extends the section and implements {@link HarnessSource}. Tag {@code link} has all that need a link (level 2), tag {@code
 * server} all that need a server of the kit's own (level 3).
 *
 * <p>{@code tck.mode} is {@code quick} (by default, under five minutes), {@code full} (under an hour: greater sizes, and a history
 * of three minutes under each kind of fault) or {@code soak=DURATION} (the sizes of a quick run, and histories that take
 * so long together); {@code tck.timeout.factor} multiplies all time-outs; {@code tck.seed} repeats the random choices of a run.
 */
@Section
public abstract class SemaphoreTck implements HarnessSource {
    /** For subclasses. */
    protected SemaphoreTck() {}

    /** See {@link SafetyRules}. */
    @Nested
    @DisplayName("1 Safety")
    @Tag("safety")
    public class Safety extends SafetyRules {
        /** For JUnit. */
        public Safety() {}
    }

    /** See {@link LivenessRules}. */
    @Nested
    @DisplayName("2 Liveness")
    @Tag("liveness")
    public class Liveness extends LivenessRules {
        /** For JUnit. */
        public Liveness() {}
    }

    /** See {@link ContentionRules}. */
    @Nested
    @DisplayName("2 Contention")
    @Tag("contention")
    public class Contention extends ContentionRules {
        /** For JUnit. */
        public Contention() {}
    }

    /** See {@link LeavingRules}. */
    @Nested
    @DisplayName("2 Leaving")
    @Tag("leaving")
    public class Leaving extends LeavingRules {
        /** For JUnit. */
        public Leaving() {}
    }

    /** See {@link CrowdRules}. */
    @Nested
    @DisplayName("2 Crowd")
    @Tag("crowd")
    public class Crowd extends CrowdRules {
        /** For JUnit. */
        public Crowd() {}
    }

    /** See {@link TimeoutRules}. */
    @Nested
    @DisplayName("3 Timeout")
    @Tag("timeout")
    public class Timeout extends TimeoutRules {
        /** For JUnit. */
        public Timeout() {}
    }

    /** See {@link ClosingRules}. */
    @Nested
    @DisplayName("3 Closing")
    @Tag("closing")
    public class Closing extends ClosingRules {
        /** For JUnit. */
        public Closing() {}
    }

    /** See {@link InterruptRules}. */
    @Nested
    @DisplayName("3 Interrupt")
    @Tag("interrupt")
    public class Interrupt extends InterruptRules {
        /** For JUnit. */
        public Interrupt() {}
    }

    /** See {@link OutageRules}. */
    @Nested
    @DisplayName("3 Silent link")
    @Tag("outage")
    @Tag("link")
    public class Outage extends OutageRules {
        /** For JUnit. */
        public Outage() {}
    }

    /** See {@link StoppedServerRules}. */
    @Nested
    @DisplayName("3 Stopped server")
    @Tag("stopped-server")
    @Tag("server")
    public class StoppedServer extends StoppedServerRules {
        /** For JUnit. */
        public StoppedServer() {}
    }

    /** See {@link ReleaseRules}. */
    @Nested
    @DisplayName("4 Release")
    @Tag("release")
    public class Release extends ReleaseRules {
        /** For JUnit. */
        public Release() {}
    }

    /** See {@link TaskRules}. */
    @Nested
    @DisplayName("4 Task")
    @Tag("task")
    public class Task extends TaskRules {
        /** For JUnit. */
        public Task() {}
    }

    /** See {@link VerificationRules}. */
    @Nested
    @DisplayName("5 Verification")
    @Tag("verification")
    public class Verification extends VerificationRules {
        /** For JUnit. */
        public Verification() {}
    }

    /** See {@link RenewalRules}. */
    @Nested
    @DisplayName("6 Renewal")
    @Tag("renewal")
    public class Renewal extends RenewalRules {
        /** For JUnit. */
        public Renewal() {}
    }

    /** See {@link LossRules}. */
    @Nested
    @DisplayName("6 Loss")
    @Tag("loss")
    public class Loss extends LossRules {
        /** For JUnit. */
        public Loss() {}
    }

    /** See {@link FencingRules}. */
    @Nested
    @DisplayName("7 Fencing")
    @Tag("fencing")
    public class Fencing extends FencingRules {
        /** For JUnit. */
        public Fencing() {}
    }

    /** See {@link AdministrationRules}. */
    @Nested
    @DisplayName("8 Administration")
    @Tag("administration")
    public class Administration extends AdministrationRules {
        /** For JUnit. */
        public Administration() {}
    }

    /** See {@link ResizeRules}. */
    @Nested
    @DisplayName("8 Resize")
    @Tag("resize")
    public class Resize extends ResizeRules {
        /** For JUnit. */
        public Resize() {}
    }

    /** See {@link InspectionRules}. */
    @Nested
    @DisplayName("9 Inspection")
    @Tag("inspection")
    public class Inspection extends InspectionRules {
        /** For JUnit. */
        public Inspection() {}
    }

    /** See {@link AsyncRules}. */
    @Nested
    @DisplayName("10 Async")
    @Tag("async")
    public class Async extends AsyncRules {
        /** For JUnit. */
        public Async() {}
    }

    /** See {@link FairnessRules}. */
    @Nested
    @DisplayName("11 Fairness")
    @Tag("fairness")
    public class Fairness extends FairnessRules {
        /** For JUnit. */
        public Fairness() {}
    }

    /** See {@link InputRules}. */
    @Nested
    @DisplayName("12 Input")
    @Tag("input")
    public class Input extends InputRules {
        /** For JUnit. */
        public Input() {}
    }

    /** See {@link PauseRules}. */
    @Nested
    @DisplayName("14 Pause")
    @Tag("pause")
    public class Pause extends PauseRules {
        /** For JUnit. */
        public Pause() {}
    }

    /** See {@link AccessRules}. */
    @Nested
    @DisplayName("15 Access")
    @Tag("access")
    public class Access extends AccessRules {
        /** For JUnit. */
        public Access() {}
    }

    /** See {@link HygieneRules}. */
    @Nested
    @DisplayName("16 Hygiene")
    @Tag("hygiene")
    public class Hygiene extends HygieneRules {
        /** For JUnit. */
        public Hygiene() {}
    }

    /** See {@link TrafficRules}. */
    @Nested
    @DisplayName("16 Traffic")
    @Tag("traffic")
    @Tag("link")
    public class Traffic extends TrafficRules {
        /** For JUnit. */
        public Traffic() {}
    }

    /** See {@link CrossProcessRules}. */
    @Nested
    @DisplayName("1 Over processes")
    @Tag("cross-process")
    public class CrossProcess extends CrossProcessRules {
        /** For JUnit. */
        public CrossProcess() {}
    }

    /** See {@link WakeUpRules}. */
    @Nested
    @DisplayName("2 Wake-ups of other processes")
    @Tag("wake-up")
    public class WakeUp extends WakeUpRules {
        /** For JUnit. */
        public WakeUp() {}
    }

    /** See {@link CrashRules}. */
    @Nested
    @DisplayName("2 Crashes")
    @Tag("crash")
    public class Crash extends CrashRules {
        /** For JUnit. */
        public Crash() {}
    }

    /** See {@link LostAnswerRules}. */
    @Nested
    @DisplayName("13 Lost answers")
    @Tag("lost-answer")
    @Tag("link")
    public class LostAnswer extends LostAnswerRules {
        /** For JUnit. */
        public LostAnswer() {}
    }

    /** See {@link CutRules}. */
    @Nested
    @DisplayName("13 Cut link")
    @Tag("cut")
    @Tag("link")
    public class Cut extends CutRules {
        /** For JUnit. */
        public Cut() {}
    }

    /** See {@link BriefFaultRules}. */
    @Nested
    @DisplayName("13 Brief faults of a link")
    @Tag("brief-fault")
    @Tag("link")
    public class BriefFault extends BriefFaultRules {
        /** For JUnit. */
        public BriefFault() {}
    }

    /** See {@link IsolationRules}. */
    @Nested
    @DisplayName("13 Isolated holder")
    @Tag("isolation")
    @Tag("link")
    public class Isolation extends IsolationRules {
        /** For JUnit. */
        public Isolation() {}
    }

    /** See {@link StallRules}. */
    @Nested
    @DisplayName("13 Silent and slow link")
    @Tag("stall")
    @Tag("link")
    public class Stall extends StallRules {
        /** For JUnit. */
        public Stall() {}
    }

    /** See {@link RestartRules}. */
    @Nested
    @DisplayName("13 Restart")
    @Tag("restart")
    @Tag("server")
    public class Restart extends RestartRules {
        /** For JUnit. */
        public Restart() {}
    }

    /** See {@link FailOverRules}. */
    @Nested
    @DisplayName("13 Fail-over")
    @Tag("fail-over")
    @Tag("server")
    public class FailOver extends FailOverRules {
        /** For JUnit. */
        public FailOver() {}
    }

    /** See {@link ErrorRules}. */
    @Nested
    @DisplayName("13 Errors of the backend")
    @Tag("errors")
    @Tag("server")
    public class Errors extends ErrorRules {
        /** For JUnit. */
        public Errors() {}
    }

    /** See {@link FaultHistoryRules}. */
    @Nested
    @DisplayName("1 Histories of faults")
    @Tag("history")
    public class FaultHistory extends FaultHistoryRules {
        /** For JUnit. */
        public FaultHistory() {}
    }

    /** See {@link StormRules}. */
    @Nested
    @DisplayName("1 All faults")
    @Tag("storm")
    @Tag("server")
    public class Storm extends StormRules {
        /** For JUnit. */
        public Storm() {}
    }
}
