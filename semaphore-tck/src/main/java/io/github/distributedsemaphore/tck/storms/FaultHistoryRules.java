package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.FaultShape;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rule 1.12, one kind of fault at a time and for as long as the mode of the run says: three minutes each in a full run. A quick
 * run takes a few kinds only: changes of the limit, one of each place that the harness can disturb, and more by its seed.
 */
@Section
public abstract class FaultHistoryRules {
    /** For subclasses. */
    protected FaultHistoryRules() {}

    @ParameterizedTest
    @EnumSource(FaultShape.class)
    @Rule("1.12")
    @Timeout(value = 1, unit = TimeUnit.DAYS) // as long as the mode says; what hangs is found by the tasks' patience
    void neverMoreThanTheLimitHoldUnderOneKindOfFault(FaultShape shape, TckFixture tck) throws Exception {
        tck.histories().require(shape, possible(tck), tck.seed());
        new FaultHistory(tck, shape).run();
    }

    private static Set<FaultShape> possible(TckFixture tck) {
        Set<FaultShape> possible = EnumSet.noneOf(FaultShape.class);
        for (FaultShape shape : FaultShape.values()) {
            boolean can = switch (shape.place()) {
                case LINK -> tck.harness().link().isPresent();
                case SERVER -> tck.run().server().isPresent();
                case PROCESS -> tck.harness().agents().isPresent();
                case NOWHERE -> true;
            };
            if (can) {
                possible.add(shape);
            }
        }
        return possible;
    }
}
