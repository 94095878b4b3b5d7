package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AdminCommandsTest {
    @TempDir
    private Path folder;

    private LocalCommands semaphore;

    @BeforeEach
    void useOwnFolder() {
        semaphore = new LocalCommands(folder);
    }

    @Test
    void createIsRepeatableAndRefusesAnotherLimit() {
        assertThat(semaphore.execute("create", "exports", "3"))
                .isEqualTo(new LocalCommands.Outcome(0, "created exports, limit 3\n", ""));
        assertThat(semaphore.execute("create", "exports", "3"))
                .isEqualTo(new LocalCommands.Outcome(0, "exports has limit 3 already\n", ""));

        LocalCommands.Outcome other = semaphore.execute("create", "exports", "4");
        assertThat(other.code()).isEqualTo(3);
        assertThat(other.err()).contains("exports", "3", "4").hasLineCount(1);
        assertThat(semaphore.execute("status", "exports").out()).isEqualTo("exports: limit 3, free 3\n");
    }

    @Test
    void aLimitOrNameOutOfRangeIsWrongUsage() {
        assertThat(semaphore.execute("create", "exports", "0").code()).isEqualTo(64);
        assertThat(semaphore.execute("create", "", "1").code()).isEqualTo(64);
    }

    @Test
    void whatDoesNotExistCanBeNeitherShownNorChanged() {
        assertThat(semaphore.execute("status", "none").code()).isEqualTo(5);
        assertThat(semaphore.execute("resize", "none", "2").code()).isEqualTo(5);
        assertThat(semaphore.execute("destroy", "none").code()).isEqualTo(5);
    }

    @Test
    void statusWithoutANameShowsAllOfThem() {
        assertThat(semaphore.execute("status").out()).startsWith("no semaphores");
        assertThat(semaphore.execute("status", "--json").out()).isEqualTo("[]\n");
        semaphore.execute("create", "imports", "1");
        semaphore.execute("create", "exports", "2");

        assertThat(semaphore.execute("status").out()).isEqualTo("exports: limit 2, free 2\nimports: limit 1, free 1\n");
        JsonArray all = JsonParser.parseString(
                        semaphore.execute("status", "--json").out())
                .getAsJsonArray();
        assertThat(all).hasSize(2);
    }

    @Test
    void statusShowsWhoHoldsASlot() {
        try (CommandProcess holder = semaphore.run("exports --limit 2 --label nightly", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));

            assertThat(semaphore.execute("status", "exports").out())
                    .startsWith("exports: limit 2, free 1\nSLOT")
                    .contains("nightly", String.valueOf(holder.pid()), "held")
                    .hasLineCount(3);
            JsonObject json = JsonParser.parseString(
                            semaphore.execute("status", "exports", "--json").out())
                    .getAsJsonObject();
            assertThat(json.get("free").getAsInt()).isEqualTo(1);
            JsonObject slot = json.getAsJsonArray("holders").get(0).getAsJsonObject();
            assertThat(slot.get("pid").getAsLong()).isEqualTo(holder.pid());
            assertThat(slot.get("label").getAsString()).isEqualTo("nightly");
        }
    }

    @Test
    void resizeAndDestroyWaitForTheHoldersOfRemovedSlots() {
        try (CommandProcess holder = semaphore.run("exports --limit 2 --permits 2", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));

            assertThat(semaphore.execute("resize", "exports", "1").code()).isZero();
            LocalCommands.Outcome resized = semaphore.execute("resize", "exports", "1", "--wait", "0s");
            assertThat(resized.code()).isEqualTo(4);
            assertThat(resized.err()).contains("still held").hasLineCount(1);
            assertThat(semaphore.execute("destroy", "exports", "--wait", "10ms").code())
                    .isEqualTo(4);
            holder.input("\n");
            assertThat(holder.exitCode()).isZero();
        }
        assertThat(semaphore.execute("create", "exports", "1").code()).isZero();
        assertThat(semaphore.execute("destroy", "exports", "--wait", "5s"))
                .isEqualTo(new LocalCommands.Outcome(0, "destroyed exports\n", ""));
    }

    @Test
    void aDestroyThatIsRepeatedWaitsForTheHoldersThatAreLeft() {
        try (CommandProcess holder = semaphore.run("exports --limit 1", "echo > ready; read unused")) {
            await().until(() -> semaphore.file("ready").equals("\n"));

            for (int call = 1; call <= 2; call++) {
                LocalCommands.Outcome outcome = semaphore.execute("destroy", "exports", "--wait", "500ms");
                assertThat(outcome.code()).as("call %d: %s", call, outcome).isEqualTo(4);
                assertThat(outcome.err()).contains("still held").hasLineCount(1);
            }
            assertThat(semaphore.execute("destroy", "exports").code()).isEqualTo(5);
            holder.input("\n");
            assertThat(holder.exitCode()).isZero();
        }
        assertThat(semaphore.execute("destroy", "exports", "--wait", "500ms").code())
                .isEqualTo(5);
    }

    @Test
    void guaranteesAreThoseOfTheBackend() {
        LocalCommands.Outcome outcome = semaphore.execute("guarantees");

        assertThat(outcome.code()).isZero();
        assertThat(outcome.out()).startsWith("BACKEND").contains("local", "dead holder's slot free after");
    }
}
