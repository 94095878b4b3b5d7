package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import io.github.distributedsemaphore.tck.rules.AdministrationRules;
import io.github.distributedsemaphore.tck.rules.FencingRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.ResizeRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Nested;

/**
 * What depends on the database, on H2 in the memory of this process, as tests of applications use it. {@link H2WholeTckTest} runs the
 * whole kit, on demand.
 */
@Section
class H2TckTest implements HarnessSource {
    @Override
    public SemaphoreTckHarness harness() {
        return new Harness();
    }

    /** A database for each run; level 0, as nobody else can connect to it. */
    static final class Harness extends UriHarness {
        Harness() {
            super("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1?detection=3s&timeout=1500ms&poll=20ms");
        }

        @Override
        public Optional<AgentLauncher> agents() {
            return Optional.empty();
        }

        @Override
        public boolean mayStay(Thread thread) {
            return PostgresHarness.isShared(thread) || thread.getName().startsWith("MVStore");
        }

        @Override
        public Map<Integer, String> absent() {
            return Map.of(1, "the database is in this process", 2, "there is no network", 3, "there is no server");
        }
    }

    @Nested
    class Safety extends SafetyRules {}

    @Nested
    class Release extends ReleaseRules {}

    @Nested
    class Fencing extends FencingRules {}

    @Nested
    class Administration extends AdministrationRules {}

    @Nested
    class Resize extends ResizeRules {}

    @Nested
    class Input extends InputRules {}
}
