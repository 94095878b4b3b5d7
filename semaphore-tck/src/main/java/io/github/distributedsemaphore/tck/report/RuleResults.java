package io.github.distributedsemaphore.tck.report;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * How the tests of each rule went. A rule that failed once has failed; one that passed and was aborted has passed, and the
 * reason tells of the rest. Thread-safe.
 */
public final class RuleResults {
    private static final String IN_PART = "in part: ";

    /** The state of a rule. Of two, the later one counts. */
    public enum State {
        /** The harness has not what its tests need. */
        UNTESTED,
        /** Each test of it ended early, as its capability is not declared or the time too short. */
        ABORTED,
        /** Tests of it passed, and none failed. */
        PASSED,
        /** A test of it failed. */
        FAILED
    }

    /**
     * A result.
     *
     * @param state the state
     * @param reason why not, if not all of its tests passed
     */
    public record Result(State state, String reason) {}

    private final Map<String, Result> results = new ConcurrentSkipListMap<>();

    /**
     * Notes a test that passed.
     *
     * @param rules the rules it shows
     */
    public void passed(List<String> rules) {
        add(rules, new Result(State.PASSED, ""));
    }

    /**
     * Notes a test that failed.
     *
     * @param rules the rules it shows
     * @param reason what it said
     */
    public void failed(List<String> rules, String reason) {
        add(rules, new Result(State.FAILED, reason));
    }

    /**
     * Notes a test that was aborted.
     *
     * @param rules the rules it shows
     * @param reason what it said
     */
    public void aborted(List<String> rules, String reason) {
        add(rules, new Result(State.ABORTED, reason));
    }

    /**
     * Notes a test that the harness has not the means for.
     *
     * @param rules the rules it shows
     * @param reason what is missing and why
     */
    public void untested(List<String> rules, String reason) {
        add(rules, new Result(State.UNTESTED, reason));
    }

    void add(List<String> rules, Result result) {
        rules.forEach(rule -> results.merge(rule, result, RuleResults::together));
    }

    private static Result together(Result one, Result other) {
        boolean later = other.state().compareTo(one.state()) > 0;
        Result more = later ? other : one;
        Result less = later ? one : other;
        if (!more.reason().isEmpty() || less.reason().isEmpty()) {
            return more;
        }
        // Where several JVMs share a run, one of them may have said so already.
        return new Result(more.state(), (less.reason().startsWith(IN_PART) ? "" : IN_PART) + less.reason());
    }

    /**
     * Returns the results so far.
     *
     * @return by rule id; unmodifiable
     */
    public Map<String, Result> all() {
        return Map.copyOf(results);
    }
}
