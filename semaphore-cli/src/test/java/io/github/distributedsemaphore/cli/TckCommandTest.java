package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The kit from the command line, over {@code local:}. */
final class TckCommandTest {
    @TempDir
    private Path folder;

    @Test
    void runsASectionWritesTheReportAndLeavesNothing() throws IOException {
        LocalCommands commands = new LocalCommands(folder);
        Path report = folder.resolve("report.json");
        // It goes to where the link leads, not in the link's place.
        Path link = Files.createSymbolicLink(folder.resolve("link.json"), report);
        Path page = folder.resolve("report.html");

        LocalCommands.Outcome outcome = commands.execute(
                "tck",
                "--section",
                "verification",
                "--seed",
                "42",
                "--report",
                link.toString(),
                "--html",
                page.toString());

        assertThat(outcome.code()).as(outcome.out() + outcome.err()).isZero();
        assertThat(outcome.err()).contains("5 Verification").doesNotContain("FAILED");
        assertThat(outcome.out()).contains("5.1   passed", "0 failed", link.toString(), page.toString());
        assertThat(Files.readString(page)).contains("<tr id=\"r5.1\" class=\"passed\">", "seed <b>42</b>");
        JsonObject json = JsonParser.parseString(Files.readString(report)).getAsJsonObject();
        assertThat(json.getAsJsonObject("run").get("seed").getAsString()).isEqualTo("42");
        assertThat(json.getAsJsonArray("rules").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .filter(rule -> rule.get("rule").getAsString().equals("5.1"))
                        .map(rule -> rule.get("state").getAsString()))
                .containsExactly("passed");
        assertThat(commands.execute("status").out()).doesNotContain("tck");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--report", "--html"})
    void aReportThatCannotBeWrittenIsToldBeforeAnyRuleIsTried(String option) throws IOException {
        Path missing = folder.resolve("missing");
        LocalCommands.Outcome outcome = LocalCommands.executeOn(
                "scripted:", "tck", option, missing.resolve("report").toString());

        assertThat(outcome.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err()).contains(option, missing.toString()).hasLineCount(1);
        assertThat(LocalCommands.executeOn("scripted:", "tck", option, folder.toString())
                        .code())
                .isEqualTo(ExitCodes.USAGE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"saftey", "a b", ""})
    void aSectionThatTheKitDoesNotHaveIsToldBeforeAnyRuleIsTried(String section) {
        LocalCommands.Outcome outcome =
                LocalCommands.executeOn("scripted:", "tck", "--section", "verification", "--section", section);

        assertThat(outcome.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err())
                .contains("'" + section + "'", "access, administration", "verification")
                .hasLineCount(1);
    }

    @Test
    void aBackendThatIsOutOfReachIsSaidBeforeAnyRuleIsTried() {
        LocalCommands.Outcome outcome = LocalCommands.executeOn("redis://127.0.0.1:1", "tck");

        assertThat(outcome.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err()).startsWith("semaphore: ").hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource({"access, 77, the backend refuses you", "unavailable, 69, the backend is down"})
    void aBackendThatRefusesOrIsAwayIsToldBeforeAnyRuleIsTried(String ping, int code, String reason) {
        LocalCommands.Outcome outcome = LocalCommands.executeOn("scripted:?ping=" + ping, "tck");

        assertThat(outcome.code()).isEqualTo(code);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err()).startsWith("semaphore: " + reason).hasLineCount(1);
    }

    @Test
    void aSignalDuringTheRunLeavesNoFolder() throws IOException {
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        String kits = "glob:**/semaphore-tck*";
        List<String> words = new ArrayList<>(List.of("--backend", new LocalCommands(folder).backend(), "tck"));
        List.of("timeout", "interrupt", "liveness").forEach(section -> words.addAll(List.of("--section", section)));
        try (CommandProcess tck =
                CommandProcess.start(folder, Map.of("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + temporary), words)) {
            await().until(() -> tck.err().contains("[  1/"));
            assertThat(temporary).isDirectoryContaining(kits);
            tck.signal("INT");

            assertThat(tck.exitCode()).isEqualTo(130);
        }
        assertThat(temporary).isDirectoryNotContaining(kits);
    }

    @Test
    void aBrokenRuleEndsWithItsCodeAndIsNamed() {
        // This one has no administration.
        LocalCommands.Outcome outcome = LocalCommands.executeOn("scripted:", "tck", "--section", "verification");

        assertThat(outcome.code()).isEqualTo(ExitCodes.RULE_BROKEN);
        assertThat(outcome.out()).contains("FAILED 5 Verification");
    }
}
