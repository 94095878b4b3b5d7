package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The backend in memory keeps every promise of the port, and every method of the port is called for some rule. */
class MemoryTckTest extends SemaphoreTck {
    private static final Path REPORT =
            Path.of(System.getProperty("tck.reports", "target/tck"), "MemoryTckTest", "conformance.json");

    @Override
    public int jvms() {
        return 3;
    }

    /** Of several JVMs the last one reports for all, before it closes its harness. */
    @Override
    public SemaphoreTckHarness harness() {
        try {
            Files.deleteIfExists(REPORT);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new LinkedMemoryHarness(LinkedMemoryHarness.ALL) {
            @Override
            public void close() {
                super.close();
                if (Files.exists(REPORT)) {
                    assertThatTheWholePortWasCalled();
                }
            }
        };
    }

    private static void assertThatTheWholePortWasCalled() {
        JsonObject report;
        try {
            report = JsonParser.parseString(Files.readString(REPORT)).getAsJsonObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        boolean isWhole = report.getAsJsonArray("rules").asList().stream()
                .noneMatch(rule ->
                        rule.getAsJsonObject().get("state").getAsString().equals("not run"));
        if (isWhole) {
            assertThat(report.getAsJsonArray("untouched"))
                    .as("methods that no test called")
                    .isEmpty();
        }
    }
}
