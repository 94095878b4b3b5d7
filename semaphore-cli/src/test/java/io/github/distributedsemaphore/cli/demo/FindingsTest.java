package io.github.distributedsemaphore.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Shows that the demonstration would tell: every promise is broken once. */
final class FindingsTest {
    private static final Guarantees PROMISED = GuaranteesBuilder.of("paper")
            .detection(Duration.ZERO, Duration.ofSeconds(1))
            .wakeUpBound(Duration.ofMillis(250))
            .build();

    private final Ledger ledger = new Ledger();

    private void granted(int worker, int slot, long epoch, long millis) {
        ledger.record(
                worker, new WorkerEvent(WorkerEvent.Kind.GRANTED, millis * 1_000_000, slot, epoch, 5_000_000, ""));
    }

    private void released(int worker, long millis) {
        ledger.record(worker, WorkerEvent.of(WorkerEvent.Kind.RELEASING, millis * 1_000_000));
    }

    private void killed(int worker, long millis) {
        ledger.killed(worker, millis * 1_000_000);
    }

    private Findings findings() {
        return Findings.of(ledger, PROMISED, 2, 2);
    }

    /** Two workers in two slots, one of which is killed; the other has its slot afterwards. */
    private void play() {
        granted(1, 1, 10, 0);
        granted(2, 2, 10, 10);
        released(2, 100);
        killed(1, 200);
        granted(2, 1, 11, 230);
    }

    @Test
    void nothingIsBrokenWhereEverythingWasKept() {
        play();

        Findings findings = findings();
        assertThat(findings.broken()).isEmpty();
        assertThat(findings.grants()).isEqualTo(3);
        assertThat(findings.mostAtOnce()).isEqualTo(2);
        assertThat(findings.takeover()).hasValue(30_000_000);
        assertThat(findings.waits().getTotalCount()).isEqualTo(3);
    }

    @Test
    void aHolderTooManyIsFound() {
        play();
        granted(3, 2, 12, 240);
        granted(4, 3, 1, 250);

        assertThat(findings().broken()).containsExactly("3 held the semaphore at once; its limit is 2");
    }

    @Test
    void aHolderIsCountedUntilItIsKilled() {
        granted(1, 1, 10, 0);
        granted(2, 1, 11, 190);
        killed(1, 200);

        assertThat(findings().broken()).contains("workers 1 and 2 held slot 1 at once");
    }

    @Test
    void anEpochThatDoesNotRiseIsFound() {
        play();
        released(2, 300);
        granted(2, 1, 11, 310);

        assertThat(findings().broken()).containsExactly("epoch 11 of slot 1 came after 11");
    }

    @Test
    void aSlotLeftIdleIsFound() {
        play();
        released(2, 300);
        granted(2, 1, 12, 300 + 250 + Findings.IDLE_ALLOWANCE.toMillis() + 1);

        assertThat(findings().broken()).singleElement().asString().contains("given to nobody for 1311 ms");
    }

    @Test
    void aSlowTakeoverIsFoundAndIsNoIdleSlot() {
        granted(1, 1, 10, 0);
        killed(1, 200);
        granted(2, 1, 11, 200 + 1250 + 1);

        assertThat(findings().broken())
                .singleElement()
                .asString()
                .contains("granted after 1251 ms; promised is 1250ms");
    }

    @Test
    void aTakeoverThatNeverComesIsFound() {
        granted(1, 1, 10, 0);
        granted(2, 2, 10, 0);
        killed(1, 200);

        assertThat(findings().broken()).containsExactly("the slot of the killed holder was never granted again");
    }

    @Test
    void aKillThatHitNoHolderIsNoDemonstration() {
        granted(1, 1, 10, 0);
        released(1, 100);
        granted(2, 2, 10, 0);
        killed(1, 200);

        assertThat(findings().broken()).containsExactly("no holder could be killed: none kept its permit");
    }

    @Test
    void aWorkerThatIsNeverServedAndOneThatFailsAreFound() {
        granted(1, 1, 10, 0);
        killed(1, 200);
        granted(3, 1, 11, 210);
        ledger.record(2, WorkerEvent.failed(0, "out of paper"));

        assertThat(findings().broken()).containsExactly("worker 2 failed: out of paper", "worker 2 was never served");
    }
}
