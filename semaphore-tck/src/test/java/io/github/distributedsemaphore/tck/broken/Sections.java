package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.tck.faults.BriefFaultRules;
import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.faults.LostAdministrationRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.RenewalRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.StallRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.faults.TrafficRules;
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
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The sections of the kit as classes that can be run over whatever {@link #HARNESS} makes. */
final class Sections {
    /** What the next run of this thread is over. */
    static final ThreadLocal<Supplier<SemaphoreTckHarness>> HARNESS = ThreadLocal.withInitial(() -> () -> {
        throw new IllegalStateException("nothing to run over");
    });

    private Sections() {}

    /** Supplies what {@link Sections#HARNESS} makes. */
    interface Source extends HarnessSource {
        @Override
        default SemaphoreTckHarness harness() {
            return HARNESS.get().get();
        }
    }

    static Class<?> runnable(Class<?> section) {
        return Stream.of(Sections.class.getDeclaredClasses())
                .filter(type -> type.getSuperclass() == section)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no runnable class for " + section));
    }

    static class Administration extends AdministrationRules implements Source {}

    static class Arrival extends ArrivalRules implements Source {}

    static class Async extends AsyncRules implements Source {}

    static class Closing extends ClosingRules implements Source {}

    static class Fairness extends FairnessRules implements Source {}

    static class Fencing extends FencingRules implements Source {}

    static class Input extends InputRules implements Source {}

    static class Inspection extends InspectionRules implements Source {}

    static class Interrupt extends InterruptRules implements Source {}

    static class Leaving extends LeavingRules implements Source {}

    static class Liveness extends LivenessRules implements Source {}

    static class Renewal extends RenewalRules implements Source {}

    static class Loss extends LossRules implements Source {}

    static class Release extends ReleaseRules implements Source {}

    static class Resize extends ResizeRules implements Source {}

    static class Safety extends SafetyRules implements Source {}

    static class Contention extends ContentionRules implements Source {}

    static class Crowd extends CrowdRules implements Source {}

    static class Task extends TaskRules implements Source {}

    static class Timeout extends TimeoutRules implements Source {}

    static class Verification extends VerificationRules implements Source {}

    static class LostAnswer extends LostAnswerRules implements Source {}

    static class LostAdministration extends LostAdministrationRules implements Source {}

    static class Cut extends CutRules implements Source {}

    static class BriefFault extends BriefFaultRules implements Source {}

    static class Isolation extends IsolationRules implements Source {}

    static class Stall extends StallRules implements Source {}

    static class Traffic extends TrafficRules implements Source {}

    static class Outage extends OutageRules implements Source {}

    static class StoppedServer extends StoppedServerRules implements Source {}

    static class Restart extends RestartRules implements Source {}

    static class FailOver extends FailOverRules implements Source {}

    static class Errors extends ErrorRules implements Source {}

    static class FaultHistory extends FaultHistoryRules implements Source {}

    static class Access extends AccessRules implements Source {}

    static class Storm extends StormRules implements Source {}

    static class Hygiene extends HygieneRules implements Source {}
}
