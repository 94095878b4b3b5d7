package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

/**
 * What a run of the kit says about an adapter. Immutable.
 *
 * @param title the test class
 * @param kit the version of the kit
 * @param run how it was run: mode, seed, time-out factor, version of the backend, system
 * @param guarantees what the adapter declares
 * @param level what its harness can do: 0 clients, 1 other processes, 2 disturbed links, 3 a server of its own that was
 *     needed, 4 a look at the stored state, 5 other accounts
 * @param rules the verdict of each rule, in the order of the book
 * @param bounds the bounds
 * @param histories what the recorded histories came to
 * @param windows what a page shows of recorded histories
 * @param states which states were reached that a run must reach, or it could not have failed
 * @param untouched methods of the port that no test called
 * @param unproven what the harness admits not to show: a reason by rule
 */
public record Conformance(
        String title,
        String kit,
        Map<String, String> run,
        Guarantees guarantees,
        String level,
        List<Verdict> rules,
        List<BoundReport> bounds,
        List<HistoryFigures> histories,
        List<HistoryWindows> windows,
        List<StateFigures> states,
        Set<String> untouched,
        Map<String, String> unproven) {

    /** How a rule came out. */
    enum State {
        PASSED,
        FAILED,
        ABORTED,
        UNTESTED,
        NOT_RUN;

        String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * How one rule came out.
     *
     * @param rule the rule
     * @param state how
     * @param reason why, if not passed
     */
    record Verdict(RuleBook.Entry rule, State state, String reason) {}

    /**
     * Puts it together.
     *
     * @param title the test class
     * @param run how it was run
     * @param guarantees what the adapter declares
     * @param level how much its harness can do
     * @param results how the tests went
     * @param measurements what the bounds and the histories were
     * @param use which methods were called
     * @param unproven what the harness admits not to show
     * @return the report
     */
    public static Conformance of(
            String title,
            Map<String, String> run,
            Guarantees guarantees,
            String level,
            RuleResults results,
            Measurements measurements,
            PortUse use,
            Map<String, String> unproven) {
        return new Conformance(
                title,
                version(),
                run,
                guarantees,
                level,
                verdicts(results.all()),
                BoundReport.of(guarantees, measurements),
                measurements.histories(),
                measurements.windows(),
                measurements.states(),
                use.untouched(),
                unproven);
    }

    private static String version() {
        Properties properties = new Properties();
        try (InputStream in = Conformance.class.getResourceAsStream("kit.properties")) {
            if (in == null) {
                throw new IllegalStateException("kit.properties is not beside " + Conformance.class.getName());
            }
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version");
    }

    private static List<Verdict> verdicts(Map<String, RuleResults.Result> results) {
        List<Verdict> verdicts = new ArrayList<>();
        for (RuleBook.Entry rule : RuleBook.load().rules().values()) {
            RuleResults.Result result = results.get(rule.id());
            if (result != null) {
                verdicts.add(new Verdict(rule, State.valueOf(result.state().name()), result.reason()));
            } else if (rule.untested().isPresent()) {
                verdicts.add(new Verdict(rule, State.UNTESTED, rule.untested().get()));
            } else {
                verdicts.add(new Verdict(rule, State.NOT_RUN, "no test of it ran"));
            }
        }
        return verdicts;
    }

    Map<State, Integer> counts() {
        Map<State, Integer> counts = new EnumMap<>(State.class);
        rules.forEach(verdict -> counts.merge(verdict.state(), 1, Integer::sum));
        return counts;
    }

    /**
     * Says in a line how it came out.
     *
     * @return such as {@code LocalTckTest over local: 80 passed, 30 untested}
     */
    public String summary() {
        List<String> parts = new ArrayList<>();
        counts().forEach((state, count) -> parts.add(count + " " + state.word()));
        return title + " over " + guarantees.backend() + ", rules: " + String.join(", ", parts) + " (" + run.get("mode")
                + ", seed " + run.get("seed") + ")";
    }
}
