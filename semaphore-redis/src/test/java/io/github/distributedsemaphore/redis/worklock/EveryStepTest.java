package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Workers are killed with {@code kill -9} at every step that they take, once before the server has the command and once when
 * it has done it and the worker has not heard. Another worker stands behind each of them, and does what the protocol says.
 */
class EveryStepTest {
    private enum Kind {
        JAVA,
        FOREIGN
    }

    @ParameterizedTest(name = "{0} dies, {1} is there")
    @CsvSource({"java, java", "java, foreign", "foreign, java"})
    void whereverAWorkerDiesTheNextOneKnowsWhatToDo(String victims, String heirs) {
        Kind victim = Kind.valueOf(victims.toUpperCase(Locale.ROOT));
        Kind heir = Kind.valueOf(heirs.toUpperCase(Locale.ROOT));
        if (victim == Kind.FOREIGN || heir == Kind.FOREIGN) {
            ForkedCrew.assumeForeigners();
        }
        List<Crash> crashes = crashes(victim == Kind.JAVA ? Scenario.java() : Scenario.foreign());
        // What a worker in Node makes of NaN is its own affair.
        crashes.removeIf(
                crash -> heir == Kind.FOREIGN && crash.scenario().name().equals("mend"));
        assertThat(crashes).hasSizeGreaterThan(70);

        try (RedisServer server = RedisServer.start();
                CrashSite site = new CrashSite(server.uri(), crashes)) {
            site.run(
                    victim == Kind.JAVA
                            ? ForkedCrew.ofJava(site.gatePort(), site::victimTold)
                            : ForkedCrew.ofForeigners(site.gatePort(), site::victimTold),
                    heir == Kind.JAVA
                            ? new LocalCrew(server.port(), site::heirTold)
                            : ForkedCrew.ofForeigners(server.port(), site::heirTold));
            assertThat(site.odd()).isEmpty();
            for (Crash crash : crashes) {
                assertThat(site.trace(crash))
                        .as(crash.toString())
                        .isEqualTo(heir == Kind.JAVA ? crash.expectedOfJava() : crash.expectedOfForeign());
            }
            if (victim == Kind.JAVA && heir == Kind.JAVA) {
                assertNothingFinishedIsBegunAgain(site, server);
            }
        }
    }

    private static List<Crash> crashes(List<Scenario> scenarios) {
        List<Crash> crashes = new ArrayList<>();
        for (Scenario scenario : scenarios) {
            for (int step = 0; step < scenario.steps().size(); step++) {
                crashes.add(new Crash(scenario, step, false));
                crashes.add(new Crash(scenario, step, true));
            }
        }
        return crashes;
    }

    private static void assertNothingFinishedIsBegunAgain(CrashSite site, RedisServer server) {
        List<Crash> finished = site.finished();
        assertThat(finished).hasSizeGreaterThan(50);
        try (CrashSite later = new CrashSite(server.uri(), List.of())) {
            try (LocalCrew crew = new LocalCrew(server.port(), later::heirTold)) {
                later.runBehind(finished, crew);
            }
            for (Crash crash : finished) {
                assertThat(later.trace(crash)).as(crash.toString()).containsExactly("locked", "end FINISHED_ELSEWHERE");
            }
        }
    }
}
