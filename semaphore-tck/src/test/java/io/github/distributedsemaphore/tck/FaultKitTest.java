package io.github.distributedsemaphore.tck;

import static io.github.distributedsemaphore.tck.KitTest.assertAborts;
import static io.github.distributedsemaphore.tck.KitTest.assertFails;
import static io.github.distributedsemaphore.tck.KitTest.patient;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.platform.testkit.engine.EventConditions.event;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import io.github.distributedsemaphore.tck.KitTest.Case;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What cannot be disturbed is reported with the reason, and a fault that did nothing passes for nothing. */
class FaultKitTest {
    static class NeedsALink extends Case {
        @Override
        public SemaphoreTckHarness harness() {
            return new MemoryHarness(patient(LinkedMemoryHarness.ALL)) {
                @Override
                public Map<Integer, String> absent() {
                    return Map.of(2, "it is in this process");
                }
            };
        }

        @Test
        @Rule("13.1")
        void needs(TckFixture tck) {
            tck.route();
        }
    }

    @Test
    void withoutALinkARuleIsUntestedForTheReasonGiven() {
        assertAborts(NeedsALink.class, "the harness has no ServerAccess (level 2): it is in this process"::equals);
    }

    static class NeedsAServer extends NeedsALink {
        @Test
        @Override
        @Rule("13.7")
        void needs(TckFixture tck) {
            tck.server();
        }
    }

    @Test
    void withoutAServerARuleIsUntested() {
        assertAborts(NeedsAServer.class, "the harness has no ServerControl (level 3)"::equals);
    }

    abstract static class Linked extends Case {
        @Override
        public SemaphoreTckHarness harness() {
            return new LinkedMemoryHarness(patient(LinkedMemoryHarness.ALL));
        }
    }

    static class LosesAPermit extends Case {
        @Test
        @Rule("1.1")
        void loses(TckFixture tck) {
            String name = tck.create(1);
            tck.take(tck.home().semaphore(name), 1);
            tck.assertFree(name, 1);
        }
    }

    static class LosesAPermitByAFault extends LosesAPermit {
        @Test
        @Override
        @Rule("1.1")
        void loses(TckFixture tck) {
            StateProbe unused = tck.state();
            super.loses(tck);
        }
    }

    /** Where no lease has to end, less than the shortest lease is enough, which is two seconds here. */
    @Test
    void aPermitThatIsNotBackSoonIsLostUnlessThereWasAFault() {
        Map<Class<?>, String> times = Map.of(LosesAPermit.class, "PT2S", LosesAPermitByAFault.class, "PT3S");
        times.forEach((section, time) -> KitTest.results(section, Map.of("tck.report", "false", "tck.patience", "3s"))
                .testEvents()
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(finishedWithFailure(message(text ->
                                text.startsWith("[1.1] lost permits: only 0") && text.contains("within " + time))))));
    }

    static class StallsNothing extends Linked {
        @Test
        @Rule("13.5")
        void stalls(TckFixture tck) {
            try (LinkFault stall = tck.route().proxy().stall()) {
                assertThat(stall.strikes()).isZero();
            }
        }
    }

    @Test
    void aFaultThatDidNothingFailsTheTest() {
        assertFails(StallsNothing.class, text -> text.contains(": the fault 'stall' had no effect on the link to"));
    }

    static class CutsNothing extends Linked {
        @Test
        @Rule("13.1")
        void cuts(TckFixture tck) {
            tck.route().proxy().cut(Ending.RESET);
        }
    }

    @Test
    void aCutOfNothingFailsTheTest() {
        assertFails(CutsNothing.class, text -> text.contains(": there is no connection to cut on the link to"));
    }

    static class LeavesItStopped extends Linked {
        @Test
        @Rule("13.7")
        void stops(TckFixture tck) {
            ServerControl server = tck.server();
            server.stop();
            assertThat(server.isRunning()).isFalse();
            assertThat(tck.server()).isSameAs(server);
            assertThat(server.isRunning()).isTrue();
        }
    }

    @Test
    void aServerThatATestLeftStoppedIsStartedForTheNext() {
        assertThat(KitTest.run(LeavesItStopped.class).succeeded().count()).isEqualTo(1);
    }

    static class ExpectsALoss extends Case {
        @Test
        @Rule("6.4")
        void expects(TckFixture tck) {
            tck.expect(Set.of(Sometimes.LOST));
            tck.reached(Sometimes.CUT_SHORTLY);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "soak=1s"})
    void aLongRunThatNeverReachedAStateIsInconclusive(String mode) {
        KitTest.results(ExpectsALoss.class, Map.of("tck.report", "false", "tck.mode", mode))
                .containerEvents()
                .assertThatEvents()
                .haveExactly(
                        1,
                        event(finishedWithFailure(message(
                                text -> text.startsWith("the run is inconclusive: it never reached [LOST],")))));
    }

    @Test
    void aQuickRunReportsWhatItNeverReached(@TempDir Path folder) throws IOException {
        KitTest.results(ExpectsALoss.class, Map.of("tck.reports", folder.toString()))
                .containerEvents()
                .assertStatistics(statistics -> statistics.failed(0));
        Path report = folder.resolve("ExpectsALoss");
        assertThat(Files.readString(report.resolve("conformance.txt")))
                .containsPattern("sometimes lost +0 never reached")
                .containsPattern("sometimes cut_shortly +1 \\R");
        assertThat(Files.readString(report.resolve("conformance.json")).replaceAll("\\s", ""))
                .contains("{\"state\":\"LOST\",\"expected\":true,\"reached\":0}")
                .contains("{\"state\":\"CUT_FOR_LONG\",\"expected\":false,\"reached\":0}");
    }

    @Test
    void aUriLeadsClientsElsewhere() {
        UriAccess access = new UriAccess("nosuch://user:pw@example.org:1234/db?detection=2s");
        assertThat(access.address().getHostString()).isEqualTo("example.org");
        assertThat(access.address().getPort()).isEqualTo(1234);
        InetSocketAddress elsewhere = new InetSocketAddress(InetAddress.getLoopbackAddress(), 99);
        assertThatThrownBy(() -> access.connect(ClientSpec.plain(), elsewhere)).hasMessageContaining("nosuch");
        assertThatThrownBy(() -> new UriAccess("redis://a:1,b:2/"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("a:1");
    }
}
