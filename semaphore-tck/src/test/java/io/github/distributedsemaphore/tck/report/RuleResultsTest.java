package io.github.distributedsemaphore.tck.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.report.RuleResults.Result;
import io.github.distributedsemaphore.tck.report.RuleResults.State;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What several tests of one rule come to. */
class RuleResultsTest {
    private final RuleResults results = new RuleResults();

    @Test
    void oneFailureIsAFailure() {
        results.passed(List.of("1.1", "1.2"));
        results.failed(List.of("1.1"), "wrong");
        results.passed(List.of("1.1"));
        assertThat(results.all())
                .containsEntry("1.1", new Result(State.FAILED, "wrong"))
                .containsEntry("1.2", new Result(State.PASSED, ""));
    }

    @Test
    void passedInPartTellsOfTheRest() {
        results.aborted(List.of("1.1"), "no hook");
        results.passed(List.of("1.1"));
        results.aborted(List.of("1.2"), "no hook");
        assertThat(results.all())
                .containsEntry("1.1", new Result(State.PASSED, "in part: no hook"))
                .containsEntry("1.2", new Result(State.ABORTED, "no hook"));
    }

    /** Each JVM of a run may have passed a rule in part. */
    @Test
    void whatPassedInPartTwiceSaysSoOnce() {
        results.passed(List.of("1.1"));
        results.add(List.of("1.1"), new Result(State.PASSED, "in part: no hook"));
        assertThat(results.all()).containsEntry("1.1", new Result(State.PASSED, "in part: no hook"));
    }
}
