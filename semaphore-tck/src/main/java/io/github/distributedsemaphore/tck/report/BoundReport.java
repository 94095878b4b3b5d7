package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * A bound as it was declared and as it was.
 *
 * @param bound which
 * @param declared what was declared, in nanoseconds
 * @param count how often it was measured
 * @param median the value that half of the measurements do not exceed, in nanoseconds
 * @param p99 the value that 99 of 100 do not exceed
 * @param max the greatest value
 */
record BoundReport(Bound bound, long declared, long count, long median, long p99, long max) {
    private static final int LOOSE = 10;

    static List<BoundReport> of(Guarantees guarantees, Measurements measurements) {
        List<BoundReport> reports = new ArrayList<>();
        for (Bound bound : Bound.values()) {
            Histogram histogram = measurements.of(bound);
            reports.add(new BoundReport(
                    bound,
                    declared(guarantees, bound),
                    histogram.getTotalCount(),
                    histogram.getValueAtPercentile(50),
                    histogram.getValueAtPercentile(99),
                    histogram.getMaxValue()));
        }
        return reports;
    }

    private static long declared(Guarantees guarantees, Bound bound) {
        return switch (bound) {
            case OPERATION, RELEASE, TIMEOUT_SLACK -> nanos(guarantees.callBound());
            case WAKE_UP -> nanos(guarantees.wakeUpBound());
            case DETECTION -> nanos(guarantees.detectionMax());
            case LOSS_NOTICE -> nanos(guarantees.lossNoticeBound());
            case LINK_EXPOSURE -> nanos(guarantees.exposure(Fault.LINK_CUT));
            case PAUSE_EXPOSURE -> nanos(guarantees.exposure(Fault.CLIENT_PAUSE));
        };
    }

    /** An exposure without a bound is the greatest number. */
    static long nanos(Exposure exposure) {
        return exposure.longest().map(BoundReport::nanos).orElse(Long.MAX_VALUE);
    }

    static long nanos(Duration duration) {
        return duration.compareTo(Duration.ofDays(36_500)) > 0 ? Long.MAX_VALUE : duration.toNanos();
    }

    /** A word about it: measured or not, kept or not, loose or not. */
    String remark() {
        if (count == 0) {
            return "not measured";
        }
        if (max > declared) {
            return "exceeded";
        }
        return declared / LOOSE > max ? "declared loosely" : "";
    }
}
