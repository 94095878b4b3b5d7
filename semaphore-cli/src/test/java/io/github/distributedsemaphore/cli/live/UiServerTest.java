package io.github.distributedsemaphore.cli.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class UiServerTest {
    private static final String EVIL = "<script>alert(1)</script>";

    @TempDir
    private Path folder;

    private Readings readings;
    private UiServer server;

    @BeforeEach
    void start() {
        String uri = "local:" + folder.resolve("state");
        readings = new Readings(SemaphoreClient.connect(uri), uri, List.of(), Duration.ofSeconds(1));
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            client.admin().create(EVIL, 2);
        }
        readings.read();
        server = UiServer.start(readings, 0);
    }

    @AfterEach
    void stop() {
        server.close();
        readings.close();
    }

    private String host() {
        return "127.0.0.1:" + server.address().getPort();
    }

    /** As bytes, for no client lets one choose the host. */
    private String answer(String method, String path, String hostLine) throws IOException {
        try (Socket socket =
                new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
            String request = method + " " + path + " HTTP/1.1\r\n" + hostLine + "Connection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String get(String path) throws IOException {
        return answer("GET", path, "Host: " + host() + "\r\n");
    }

    private JsonObject data(String query) throws IOException {
        String answer = get("/data" + query);
        assertThat(answer).startsWith("HTTP/1.1 200");
        return JsonParser.parseString(answer.substring(answer.indexOf("\r\n\r\n")))
                .getAsJsonObject();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/ui.css", "/ui.js", "/data"})
    void everyAnswerForbidsWhatIsNotOfThePage(String path) throws IOException {
        assertThat(get(path))
                .startsWith("HTTP/1.1 200")
                .containsIgnoringCase("Content-Security-Policy: default-src 'none'; script-src 'self'")
                .containsIgnoringCase("X-Content-Type-Options: nosniff")
                .containsIgnoringCase("Cache-Control: no-store")
                .doesNotContainIgnoringCase("Access-Control-Allow-Origin");
    }

    @ParameterizedTest
    @ValueSource(strings = {"POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
    void itCanOnlyBeRead(String method) throws IOException {
        assertThat(answer(method, "/data", "Host: " + host() + "\r\n"))
                .startsWith("HTTP/1.1 405")
                .contains("Allow: GET");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Host: evil.example\r\n",
                "Host: evil.example:80\r\n",
                "Host: 127.0.0.1\r\n",
                "Host: 127.0.0.1:1\r\n",
                "Host: \r\n",
                "",
            })
    void aForeignHostIsRefused(String line) throws IOException {
        assertThat(answer("GET", "/data", line))
                .doesNotStartWith("HTTP/1.1 200")
                .doesNotContain("semaphores");
        assertThat(answer(
                        "GET", "/data", "Host: evil.example:" + server.address().getPort() + "\r\n"))
                .startsWith("HTTP/1.1 403");
    }

    @Test
    void twoHostsAreOneTooMany() throws IOException {
        assertThat(answer("GET", "/data", "Host: " + host() + "\r\nHost: evil.example\r\n"))
                .startsWith("HTTP/1.1 403");
    }

    @Test
    void localhostIsTheSameHost() throws IOException {
        assertThat(answer("GET", "/", "Host: localhost:" + server.address().getPort() + "\r\n"))
                .startsWith("HTTP/1.1 200");
    }

    @Test
    void thereIsNothingElse() throws IOException {
        assertThat(get("/../module-info.class")).startsWith("HTTP/1.1 404");
        assertThat(get("/Readings.class")).startsWith("HTTP/1.1 404");
        assertThat(get("/data?seen=x")).startsWith("HTTP/1.1 400");
        assertThat(get("/data?seen=-1")).startsWith("HTTP/1.1 400");
    }

    @Test
    void aNameIsDataAndNeverMarkup() throws IOException {
        JsonObject row = data("").getAsJsonArray("semaphores").get(0).getAsJsonObject();
        assertThat(row.get("name").getAsString()).isEqualTo(EVIL);
        assertThat(get("/data")).containsIgnoringCase("Content-Type: application/json");
        assertThat(get("/")).doesNotContain("alert(1)").contains("read-only");
        assertThat(get("/ui.js"))
                .as("ways to make markup of a text")
                .contains("textContent")
                .doesNotContain(
                        "innerHTML",
                        "outerHTML",
                        "insertAdjacentHTML",
                        "document.write",
                        "DOMParser",
                        "srcdoc",
                        "eval(");
    }

    @Test
    void thePageNeedsNothingFromElsewhere() throws IOException {
        for (String path : List.of("/", "/ui.css", "/ui.js")) {
            assertThat(get(path).replace("http://www.w3.org/2000/svg", ""))
                    .doesNotContain("http://", "https://", "@import", "url(//");
        }
    }

    @Test
    void onlyWhatAPageHasNotSeenIsSentAgain() throws IOException {
        readings.read();
        readings.read();

        assertThat(data("").getAsJsonArray("ages")).hasSize(3);
        JsonObject rest = data("?seen=2");
        assertThat(rest.get("reading").getAsLong()).isEqualTo(3);
        assertThat(rest.getAsJsonArray("ages")).hasSize(1);
        assertThat(rest.getAsJsonArray("semaphores").get(0).getAsJsonObject().getAsJsonArray("past"))
                .hasSize(1);
        assertThat(data("?seen=3").getAsJsonArray("ages")).isEmpty();
        assertThat(data("?seen=99").getAsJsonArray("ages"))
                .as("of an earlier run")
                .hasSize(3);
    }

    @Test
    void itListensOnTheLoopbackAddressOnly() throws IOException {
        for (InetAddress address : InetAddress.getAllByName(server.address().getHost())) {
            assertThat(address.isLoopbackAddress()).isTrue();
        }
    }

    @Test
    void aPortThatIsTakenIsNamed() {
        int port = server.address().getPort();
        assertThatThrownBy(() -> UiServer.start(readings, port))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("port " + port)
                .hasMessageContaining("--port");
    }
}
