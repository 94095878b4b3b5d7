package io.github.distributedsemaphore.tck.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.harness.Leftovers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SoakFiguresTest {
    private final SoakFigures figures = new SoakFigures("Some <server> 1");

    @Test
    void whatGrowsSlowlyIsNamedWithBothSizes() {
        for (int minute = 0; minute < 60; minute++) {
            figures.add("stored: things", 7 + minute / 6);
            figures.add("this client: threads", 20 + minute % 3);
            figures.add("server: memory, KB", 1_000L * minute);
        }
        assertThat(figures.grown()).containsExactly("stored: things grew from 9 to 15");
    }

    @Test
    void aFewMinutesDoNotTell() {
        for (int minute = 0; minute < 8; minute++) {
            figures.add("stored: things", 100L * minute);
        }
        assertThat(figures.grown()).isEmpty();
    }

    @Test
    void aLookCountsThisProcessAndAnother(@TempDir Path folder) throws IOException {
        figures.look(ProcessHandle.current().pid(), Leftovers.of(List.of("a key", "another")), 5);
        figures.look(ProcessHandle.current().pid(), Leftovers.of(List.of("a key", "another")), 5);
        figures.write(folder);
        assertThat(Files.readString(folder.resolve("soak.json")))
                .contains("\"minutes\":2", "\"stored: things\":[2,2]")
                .doesNotContain("\"this client: threads\":[0", "\"other client: descriptors\":[0");
        assertThat(Files.readString(folder.resolve("soak.svg"))).contains("Some &lt;server&gt; 1, 2 minutes");
    }
}
