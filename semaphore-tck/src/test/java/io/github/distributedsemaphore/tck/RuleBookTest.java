package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import io.github.distributedsemaphore.tck.rulebook.RuleDocument;
import io.github.distributedsemaphore.tck.rulebook.RuleNames;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rule book, its document and the tests fit together. */
class RuleBookTest {
    private static final Path DOCUMENT = Path.of("..", "docs", "rules.md");

    @Test
    void everyRuleHasATestOrAReasonAndEveryTestARule() {
        assertThat(RuleCoverage.gaps(RuleBook.load(), RuleCoverage.sections())).isEmpty();
    }

    @Test
    void hasAllRules() {
        assertThat(RuleBook.load().rules()).hasSize(127);
    }

    @Test
    void theDocumentIsUpToDate() throws IOException {
        String expected = RuleDocument.of(RuleBook.load());
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.createDirectories(DOCUMENT.getParent());
            Files.writeString(DOCUMENT, expected);
        }
        assertThat(DOCUMENT)
                .as("docs/rules.md; write it anew with mvn -pl semaphore-tck -am test -Dtest=RuleBookTest"
                        + " -Dsurefire.failIfNoSpecifiedTests=false -Dtck.write.docs=true")
                .hasContent(expected);
    }

    @Test
    void aGapInEitherDirectionIsFound() {
        RuleBook book = RuleBook.read(new StringReader("""
                [{"id":"1.1","section":"s","text":"t","kind":"REQUIRED","needs":[],"level":0,"untested":"why"},
                 {"id":"1.2","section":"s","text":"t","kind":"REQUIRED","needs":[],"level":0}]
                """));
        assertThat(RuleCoverage.gaps(book, List.of(Odd.class)))
                .containsExactlyInAnyOrder(
                        "rule 1.1 has a test and a reason not to",
                        "rule 1.2 has no test and no reason not to",
                        "rule 99.1 is not in the book: [Odd.unknownRule]",
                        "test Odd.noRule names no rule",
                        "method Odd.noTest names a rule and is no test");
    }

    @Test
    void anIdIsUsedOnce() {
        String rule =
                "{\"id\":\"1.1\",\"section\":\"s\",\"text\":\"t\",\"kind\":\"REQUIRED\",\"needs\":[],\"level\":0}";
        assertThatThrownBy(() -> RuleBook.read(new StringReader("[" + rule + "," + rule + "]")))
                .hasMessageContaining("rule 1.1 is there twice");
    }

    @Test
    void aTestIsNamedByItsRules() throws ReflectiveOperationException {
        assertThat(new RuleNames()
                        .generateDisplayNameForMethod(List.of(), Odd.class, Odd.class.getDeclaredMethod("unknownRule")))
                .isEqualTo("1.1 99.1 unknown rule");
    }

    abstract static class Odd {
        @Test
        @Rule({"1.1", "99.1"})
        void unknownRule() {}

        @Test
        void noRule() {}

        @Rule("1.1")
        void noTest() {}
    }
}
