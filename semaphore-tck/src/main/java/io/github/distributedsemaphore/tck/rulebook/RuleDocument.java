package io.github.distributedsemaphore.tck.rulebook;

import java.util.Locale;

/** Writes the rule book for people. */
public final class RuleDocument {
    private RuleDocument() {}

    /**
     * Writes all rules.
     *
     * @param book which
     * @return {@code docs/rules.md}
     */
    public static String of(RuleBook book) {
        StringBuilder text = new StringBuilder("""
                # The rules of the compatibility kit

                Written by `RuleDocument` from `rules.json`; change that file, not this one.

                *required*: every adapter keeps it. *capability*: kept where declared, and shown to be absent where not, if a test can show that.
                *stochastic*: a test may pass by chance although the rule is broken. *untestable*: no machine can tell.
                The level says what the adapter's harness must be able to do: 0 make clients, 1 start other processes,
                2 disturb the network, 3 stop and start the backend, 4 change stored state, 5 use other accounts.
                """);
        String section = "";
        for (RuleBook.Entry rule : book.rules().values()) {
            if (!rule.section().equals(section)) {
                section = rule.section();
                text.append("\n## ")
                        .append(rule.id(), 0, rule.id().indexOf('.'))
                        .append(". ")
                        .append(section);
                text.append(
                        "\n\n| rule | what is promised | kind | level | needs |\n| --- | --- | --- | --- | --- |\n");
            }
            text.append(row(rule));
        }
        return text.toString();
    }

    private static String row(RuleBook.Entry rule) {
        String untested = rule.untested()
                .map(reason -> " *Not tested in this version: " + reason + ".*")
                .orElse("");
        return "| " + rule.id() + " | " + rule.text() + untested + " | "
                + rule.kind().name().toLowerCase(Locale.ROOT) + " | " + rule.level() + " | "
                + String.join(", ", rule.needs()) + " |\n";
    }
}
