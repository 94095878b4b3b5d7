package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates as {@code consul tls} makes them, and an agent that wants one of its clients. */
class TlsTest {
    private static final String CA = "ca=consul-agent-ca.pem";
    private static final String CERTIFICATE = "certificate=dc1-client-consul-0.pem";
    private static final String KEY = "key=dc1-client-consul-0-key.pem";

    private final int port = FreePorts.choose(1).get(0);

    @TempDir
    Path directory;

    @BeforeEach
    void makeCertificates() throws Exception {
        tls("ca", "create");
        tls("cert", "create", "-server", "-additional-ipaddress=127.0.0.1");
        tls("cert", "create", "-client");
    }

    private void tls(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(ConsulAgent.binary(), "tls"));
        command.addAll(Arrays.asList(words));
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        assertThat(process.waitFor())
                .as(Files.readString(directory.resolve("log")))
                .isZero();
    }

    private ConsulAgent agent(boolean asksForCertificates) {
        return ConsulAgent.inMemory(
                "-https-port",
                Integer.toString(port),
                "-hcl",
                "ca_file = \"" + directory.resolve("consul-agent-ca.pem") + "\"",
                "-hcl",
                "cert_file = \"" + directory.resolve("dc1-server-consul-0.pem") + "\"",
                "-hcl",
                "key_file = \"" + directory.resolve("dc1-server-consul-0-key.pem") + "\"",
                "-hcl",
                "verify_incoming_https = " + asksForCertificates);
    }

    private SemaphoreBackend open(String... files) {
        List<String> settings = Arrays.stream(files)
                .map(file -> file.replace("=", "=" + directory + "/"))
                .toList();
        return Consul.openAt("consul+https://127.0.0.1:" + port + "?" + String.join("&", settings));
    }

    private static void assertWorks(SemaphoreBackend backend) {
        try (BackendSession session = backend.open("encrypted", new Consul.Losses())) {
            backend.admin().create("encrypted", 1);
            Hold hold = takeOne(session);
            assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
            assertThat(giveBack(session, hold).lost()).isEmpty();
        }
    }

    @Test
    void aCertificateAuthorityIsEnoughWhereTheAgentAsksForNoMore() {
        try (ConsulAgent agent = agent(false);
                SemaphoreBackend trusting = open(CA);
                SemaphoreBackend plain =
                        Consul.openAt("consul://" + agent.server().address());
                SemaphoreBackend distrusting = open()) {
            assertWorks(trusting);
            assertWorks(plain);
            assertThatThrownBy(() -> distrusting.admin().describe("encrypted"))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("certif");
        }
    }

    @Test
    void anAgentThatAsksForACertificateGetsIt() {
        try (ConsulAgent agent = agent(true);
                SemaphoreBackend known = open(CA, CERTIFICATE, KEY);
                SemaphoreBackend unknown = open(CA)) {
            assertThat(agent.server().hasLeader()).isTrue();
            assertWorks(known);
            assertThatThrownBy(() -> unknown.admin().describe("encrypted"))
                    .isInstanceOf(BackendUnavailableException.class);
        }
    }

    @Test
    void aFileThatIsNotWhatItShouldBeIsRefusedByItsSettingAndName() {
        assertThatThrownBy(() -> open(CA, CERTIFICATE)).hasMessageContaining("'key' belong together");
        assertThatThrownBy(() -> open("ca=none.pem"))
                .hasMessageContaining("'ca'")
                .hasMessageContaining("none.pem");
        assertThatThrownBy(() -> open("ca=log")).hasMessageContaining("'ca'");
        assertThatThrownBy(() -> open(CERTIFICATE, "key=consul-agent-ca.pem")).hasMessageContaining("'key'");
        assertThatThrownBy(() -> Consul.openAt("consul://localhost?ca=x")).hasMessageContaining("consul+https");
    }
}
