package io.github.distributedsemaphore.tck;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rule 1.12, one kind of fault at a time and for as long as the mode of the run says: three minutes each in a full run. A quick
 * run takes a few kinds only, by its seed.
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
        tck.histories().require(shape, tck.seed());
        new FaultHistory(tck, shape).run();
    }
}
