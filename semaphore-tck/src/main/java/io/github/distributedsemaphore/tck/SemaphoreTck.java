package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.faults.BriefFaultRules;
import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.faults.LostAdministrationRules;
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
import io.github.distributedsemaphore.tck.rules.ArrivalRules;
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

    @Nested
    @DisplayName("1 Safety")
    @Tag("safety")
    class Safety extends SafetyRules {}

    @Nested
    @DisplayName("2 Liveness")
    @Tag("liveness")
    class Liveness extends LivenessRules {}

    @Nested
    @DisplayName("2 Contention")
    @Tag("contention")
    class Contention extends ContentionRules {}

    @Nested
    @DisplayName("2 Leaving")
    @Tag("leaving")
    class Leaving extends LeavingRules {}

    @Nested
    @DisplayName("2 Crowd")
    @Tag("crowd")
    class Crowd extends CrowdRules {}

    @Nested
    @DisplayName("3 Timeout")
    @Tag("timeout")
    class Timeout extends TimeoutRules {}

    @Nested
    @DisplayName("3 Closing")
    @Tag("closing")
    class Closing extends ClosingRules {}

    @Nested
    @DisplayName("3 Interrupt")
    @Tag("interrupt")
    class Interrupt extends InterruptRules {}

    @Nested
    @DisplayName("3 Silent link")
    @Tag("outage")
    @Tag("link")
    class Outage extends OutageRules {}

    @Nested
    @DisplayName("3 Stopped server")
    @Tag("stopped-server")
    @Tag("server")
    class StoppedServer extends StoppedServerRules {}

    @Nested
    @DisplayName("4 Release")
    @Tag("release")
    class Release extends ReleaseRules {}

    @Nested
    @DisplayName("4 Task")
    @Tag("task")
    class Task extends TaskRules {}

    @Nested
    @DisplayName("5 Verification")
    @Tag("verification")
    class Verification extends VerificationRules {}

    @Nested
    @DisplayName("6 Renewal")
    @Tag("renewal")
    class Renewal extends RenewalRules {}

    @Nested
    @DisplayName("6 Loss")
    @Tag("loss")
    class Loss extends LossRules {}

    @Nested
    @DisplayName("7 Fencing")
    @Tag("fencing")
    class Fencing extends FencingRules {}

    @Nested
    @DisplayName("8 Administration")
    @Tag("administration")
    class Administration extends AdministrationRules {}

    @Nested
    @DisplayName("8 Resize")
    @Tag("resize")
    class Resize extends ResizeRules {}

    @Nested
    @DisplayName("9 Inspection")
    @Tag("inspection")
    class Inspection extends InspectionRules {}

    @Nested
    @DisplayName("10 Async")
    @Tag("async")
    class Async extends AsyncRules {}

    @Nested
    @DisplayName("11 Fairness")
    @Tag("fairness")
    class Fairness extends FairnessRules {}

    @Nested
    @DisplayName("11 Arrival")
    @Tag("arrival")
    class Arrival extends ArrivalRules {}

    @Nested
    @DisplayName("12 Input")
    @Tag("input")
    class Input extends InputRules {}

    @Nested
    @DisplayName("14 Pause")
    @Tag("pause")
    class Pause extends PauseRules {}

    @Nested
    @DisplayName("15 Access")
    @Tag("access")
    class Access extends AccessRules {}

    @Nested
    @DisplayName("16 Hygiene")
    @Tag("hygiene")
    class Hygiene extends HygieneRules {}

    @Nested
    @DisplayName("16 Traffic")
    @Tag("traffic")
    @Tag("link")
    class Traffic extends TrafficRules {}

    @Nested
    @DisplayName("1 Over processes")
    @Tag("cross-process")
    class CrossProcess extends CrossProcessRules {}

    @Nested
    @DisplayName("2 Wake-ups of other processes")
    @Tag("wake-up")
    class WakeUp extends WakeUpRules {}

    @Nested
    @DisplayName("2 Crashes")
    @Tag("crash")
    class Crash extends CrashRules {}

    @Nested
    @DisplayName("13 Lost answers")
    @Tag("lost-answer")
    @Tag("link")
    class LostAnswer extends LostAnswerRules {}

    @Nested
    @DisplayName("8 Lost answers to administration")
    @Tag("lost-answer")
    @Tag("link")
    class LostAdministration extends LostAdministrationRules {}

    @Nested
    @DisplayName("13 Cut link")
    @Tag("cut")
    @Tag("link")
    class Cut extends CutRules {}

    @Nested
    @DisplayName("13 Brief faults of a link")
    @Tag("brief-fault")
    @Tag("link")
    class BriefFault extends BriefFaultRules {}

    @Nested
    @DisplayName("13 Isolated holder")
    @Tag("isolation")
    @Tag("link")
    class Isolation extends IsolationRules {}

    @Nested
    @DisplayName("13 Silent and slow link")
    @Tag("stall")
    @Tag("link")
    class Stall extends StallRules {}

    @Nested
    @DisplayName("13 Restart")
    @Tag("restart")
    @Tag("server")
    class Restart extends RestartRules {}

    @Nested
    @DisplayName("13 Fail-over")
    @Tag("fail-over")
    @Tag("server")
    class FailOver extends FailOverRules {}

    @Nested
    @DisplayName("13 Errors of the backend")
    @Tag("errors")
    @Tag("server")
    class Errors extends ErrorRules {}

    @Nested
    @DisplayName("1 Histories of faults")
    @Tag("history")
    class FaultHistory extends FaultHistoryRules {}

    @Nested
    @DisplayName("1 All faults")
    @Tag("storm")
    @Tag("server")
    class Storm extends StormRules {}
}
