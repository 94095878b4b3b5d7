package io.github.distributedsemaphore.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class WorkerEventTest {
    @Test
    void anEventSurvivesTheWayThroughThePipe() {
        WorkerEvent event =
                new WorkerEvent(WorkerEvent.Kind.GRANTED, Long.MIN_VALUE, 3, Long.MAX_VALUE, 7, "a \"b\"\nc");

        assertThat(event.toJson()).doesNotContain("\n");
        assertThat(WorkerEvent.fromJson(event.toJson())).isEqualTo(event);
    }
}
