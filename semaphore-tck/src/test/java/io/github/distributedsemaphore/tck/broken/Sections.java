package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.tck.AccessRules;
import io.github.distributedsemaphore.tck.AdministrationRules;
import io.github.distributedsemaphore.tck.AsyncRules;
import io.github.distributedsemaphore.tck.ContentionRules;
import io.github.distributedsemaphore.tck.CutRules;
import io.github.distributedsemaphore.tck.ErrorRules;
import io.github.distributedsemaphore.tck.FailOverRules;
import io.github.distributedsemaphore.tck.FairnessRules;
import io.github.distributedsemaphore.tck.FaultHistoryRules;
import io.github.distributedsemaphore.tck.FencingRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.HygieneRules;
import io.github.distributedsemaphore.tck.InputRules;
import io.github.distributedsemaphore.tck.InspectionRules;
import io.github.distributedsemaphore.tck.InterruptRules;
import io.github.distributedsemaphore.tck.IsolationRules;
import io.github.distributedsemaphore.tck.LivenessRules;
import io.github.distributedsemaphore.tck.LossRules;
import io.github.distributedsemaphore.tck.LostAnswerRules;
import io.github.distributedsemaphore.tck.OutageRules;
import io.github.distributedsemaphore.tck.ReleaseRules;
import io.github.distributedsemaphore.tck.ResizeRules;
import io.github.distributedsemaphore.tck.RestartRules;
import io.github.distributedsemaphore.tck.SafetyRules;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.StallRules;
import io.github.distributedsemaphore.tck.StoppedServerRules;
import io.github.distributedsemaphore.tck.StormRules;
import io.github.distributedsemaphore.tck.TimeoutRules;
import io.github.distributedsemaphore.tck.VerificationRules;
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

    static class Async extends AsyncRules implements Source {}

    static class Fairness extends FairnessRules implements Source {}

    static class Fencing extends FencingRules implements Source {}

    static class Input extends InputRules implements Source {}

    static class Inspection extends InspectionRules implements Source {}

    static class Interrupt extends InterruptRules implements Source {}

    static class Liveness extends LivenessRules implements Source {}

    static class Loss extends LossRules implements Source {}

    static class Release extends ReleaseRules implements Source {}

    static class Resize extends ResizeRules implements Source {}

    static class Safety extends SafetyRules implements Source {}

    static class Contention extends ContentionRules implements Source {}

    static class Timeout extends TimeoutRules implements Source {}

    static class Verification extends VerificationRules implements Source {}

    static class LostAnswer extends LostAnswerRules implements Source {}

    static class Cut extends CutRules implements Source {}

    static class Isolation extends IsolationRules implements Source {}

    static class Stall extends StallRules implements Source {}

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
