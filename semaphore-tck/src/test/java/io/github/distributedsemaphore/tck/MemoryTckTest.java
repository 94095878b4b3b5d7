package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import io.github.distributedsemaphore.tck.run.TckRun;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.opentest4j.TestAbortedException;

/** The backend in memory keeps every promise of the port. */
class MemoryTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new LinkedMemoryHarness(LinkedMemoryHarness.ALL);
    }

    @AfterAll
    static void everyMethodOfThePortWasCalledForSomeRule(TckRun run) {
        Set<String> ran = run.results().all().keySet();
        RuleBook.load().rules().values().stream()
                .filter(rule -> rule.untested().isEmpty() && !ran.contains(rule.id()))
                .findFirst()
                .ifPresent(rule -> {
                    throw new TestAbortedException("only a part of the kit ran, without rule " + rule.id());
                });
        assertThat(run.portUse().untouched()).as("methods that no test called").isEmpty();
    }
}
