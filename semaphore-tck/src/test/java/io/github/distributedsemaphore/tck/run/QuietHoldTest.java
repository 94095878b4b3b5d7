package io.github.distributedsemaphore.tck.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.tck.MemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.report.RuleResults;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What lasts as long as the run is judged at its end. */
class QuietHoldTest {
    private static final Set<Capability> WITHOUT_LEASE = Set.of(Capability.CRASH_RELEASE, Capability.LISTING);

    private final Map<String, String> parameters = Map.of("tck.report", "false", "tck.patience", "5s");

    private TckRun run(ProbedServer server) {
        return new TckRun("quiet", TckSettings.from(parameters::get), new MemoryHarness(server), true);
    }

    private static ProbedServer server(Set<Capability> capabilities) {
        return new ProbedServer(Duration.ofSeconds(10), capabilities);
    }

    private static void assertFailed(TckRun run) {
        assertThat(run.results().all())
                .hasEntrySatisfying("2.11", result -> assertThat(result.state()).isEqualTo(RuleResults.State.FAILED));
    }

    @Test
    void aQuietRunFailsNothing() {
        TckRun run = run(server(MemoryServer.ALL));
        run.close();
        assertThat(run.results().all()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0, true", "0, false", "2, true", "2, false"})
    void aHoldThatIsLostWhileTheMachineRanIsFound(int index, boolean lease) {
        ProbedServer server = server(lease ? MemoryServer.ALL : WITHOUT_LEASE);
        TckRun run = run(server);
        server.probe().removeHolder(run.lastingNames().get(index), 1);
        assertThatThrownBy(run::close)
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("[2.11] a permit that was taken ");
        assertFailed(run);
    }

    @Test
    void whateverTheEndThrowsFailsItsRules() {
        TckRun run = run(server(MemoryServer.ALL));
        run.janitor().destroy(run.lastingNames().get(0));
        assertThatThrownBy(run::close).isInstanceOf(NoSuchSemaphoreException.class);
        assertFailed(run);
    }
}
