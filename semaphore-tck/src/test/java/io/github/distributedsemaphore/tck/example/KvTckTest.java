package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.LostAdministrationRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.WakeUpRules;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.harness.HarnessSource;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The sections of the kit that a network and a lease matter for. {@code extends SemaphoreTck} instead would run all of it. */
@Section
@EnabledIfSystemProperty(named = "kit.kv", matches = "true")
class KvTckTest implements HarnessSource {
    private static KvServer server;

    @BeforeAll
    static void start() throws IOException {
        server = new KvServer();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new UriHarness("kv://127.0.0.1:" + server.port() + "?detection=3s&timeout=2s") {
            @Override
            public Optional<ServerAccess> link() {
                return Optional.of(new UriAccess(uri()));
            }

            @Override
            public Leftovers leftovers() {
                return Leftovers.of(server.stored());
            }

            /** Of the server, which is in this process; the JDK's timer; and its HTTP client, whose threads end later. */
            @Override
            public boolean mayStay(Thread thread) {
                return thread.getName().matches("(kv-server|CompletableFutureDelay|ForkJoinPool|HttpClient-).*");
            }

            @Override
            public Map<Integer, String> absent() {
                return Map.of(
                        3, "the server is a part of this process", 4, "not shown here", 5, "it knows no accounts");
            }
        };
    }

    @Nested
    class Safety extends SafetyRules {}

    @Nested
    class Release extends ReleaseRules {}

    @Nested
    class CrossProcess extends CrossProcessRules {}

    @Nested
    class WakeUp extends WakeUpRules {}

    @Nested
    class Crash extends CrashRules {}

    @Nested
    class LostAnswer extends LostAnswerRules {}

    @Nested
    class LostAdministration extends LostAdministrationRules {}

    @Nested
    class Cut extends CutRules {}
}
