package io.github.distributedsemaphore.tck.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stored histories keep their verdict. The name of a bad one begins with the rule that it breaks. */
class HistoryCorpusTest {
    private static History read(String name) throws IOException {
        try (InputStream in = HistoryCorpusTest.class.getResourceAsStream(name + ".history")) {
            return History.parse(new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "good-handover",
                "good-lease-ended",
                "good-crash",
                "good-resize",
                "good-unknown-release",
                "good-loss-found-by-release"
            })
    void good(String name) throws IOException {
        assertThat(HistoryChecks.violations(read(name), true, Duration.ofNanos(100)))
                .isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.2-two-in-one-slot",
                "1.2-one-too-many",
                "1.2-removed-slot",
                "2.8-refused-before-anybody-can-have-held",
                "2.8-refused-by-a-grant-that-nobody-held",
                "2.8-refused-though-free",
                "6.4-loss-told-twice",
                "6.5-loss-after-release",
                "7.1-epoch-against-the-order",
                "7.1-epoch-falls",
                "7.1-epoch-twice"
            })
    void bad(String name) throws IOException {
        List<Violation> violations = HistoryChecks.violations(read(name), true, Duration.ofNanos(100));
        assertThat(violations)
                .isNotEmpty()
                .allSatisfy(violation -> assertThat(name).startsWith(violation.rule() + "-"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"good-handover", "good-resize", "7.1-epoch-twice"})
    void aHistoryIsReadAsItWasWritten(String name) throws IOException {
        History history = read(name);
        assertThat(History.parse(history.lines())).isEqualTo(history);
    }
}
