package io.github.distributedsemaphore.benchmarks.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.benchmarks.cells.Mode;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.contestants.Pass;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two views of the same file stand for two processes. */
class HolderWatchTest {
    @TempDir
    private Path folder;

    private HolderWatch here;
    private HolderWatch there;

    @BeforeEach
    void open() {
        Variant variant = Variant.of(Mode.SEMAPHORE, 1, 3).besides(1, 0).overNames(2);
        here = HolderWatch.open(folder.resolve("watch"), variant);
        there = HolderWatch.open(folder.resolve("watch"), variant);
    }

    private static Pass pass(int slot, long epoch) {
        return new Pass(slot, epoch, () -> {});
    }

    @Test
    void whoKeepsToTheRulesIsNotReported() {
        here.enter(0, pass(1, 5));
        there.enter(0, pass(2, 5));
        here.enter(1, pass(1, 1));
        here.leave(0, pass(1, 5));
        there.enter(0, pass(1, 6));

        assertThat(here.violations()).isEmpty();
    }

    @Test
    void oneHolderMoreThanTheLimitLeavesIsReported() {
        here.enter(0, pass(1, 1));
        there.enter(0, pass(2, 1));
        there.enter(0, pass(3, 1));

        assertThat(here.violations()).singleElement().asString().contains("above the limit of 2");
    }

    @Test
    void aHolderWithoutSlotIsCountedToo() {
        for (int i = 0; i < 3; i++) {
            there.enter(0, Pass.withoutSlot(() -> {}));
        }

        assertThat(here.violations()).singleElement().asString().contains("above the limit of 2");
    }

    @Test
    void twoHoldersOfOneSlotAreReported() {
        here.enter(0, pass(3, 1));
        there.enter(0, pass(3, 2));

        assertThat(here.violations()).singleElement().asString().contains("entered a slot that was held");
    }

    @Test
    void aSlotThatDoesNotExistIsReported() {
        here.enter(0, pass(4, 1));

        assertThat(here.violations()).singleElement().asString().contains("does not exist");
    }

    @Test
    void anEpochThatDoesNotRiseIsReported() {
        here.enter(0, pass(1, 7));
        here.leave(0, pass(1, 7));
        there.enter(0, pass(1, 7));

        assertThat(here.violations()).singleElement().asString().contains("epochs were not above");
    }
}
