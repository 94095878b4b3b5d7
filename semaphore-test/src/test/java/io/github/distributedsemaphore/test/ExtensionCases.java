package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests as an application has them, of which two fail on purpose: {@link SemaphoreExtensionTest} runs them. */
@ExtendWith(SemaphoreExtension.class)
class ExtensionCases {
    private static final List<Permit> KEPT = Collections.synchronizedList(new ArrayList<>());

    @Test
    void hasAClockThatItAdvances(TestSemaphores semaphores, TestReporter reporter) {
        reporter.publishEntry("jupiter", Test.class.getPackage().getImplementationVersion());
        Permit permit = semaphores.create("exports", 1).tryAcquire().orElseThrow();
        semaphores.advance(Duration.ofHours(1));
        assertThat(permit.isValid()).isTrue();
        permit.release();
    }

    @Test
    void hasTheClientOfTheSameServer(SemaphoreClient client, TestSemaphores semaphores) {
        assertThat(client).isSameAs(semaphores.client());
    }

    @Test
    void usesNone() {}

    @Test
    void leavesAPermit(TestSemaphores semaphores) {
        KEPT.add(semaphores.create("exports", 1).tryAcquire().orElseThrow());
    }

    @Test
    void failsByItself(TestSemaphores semaphores) {
        KEPT.add(semaphores.create("exports", 1).tryAcquire().orElseThrow());
        throw new AssertionError("its own failure");
    }

    @AfterAll
    static void whatWasKeptIsLost() {
        assertThat(KEPT).noneMatch(Permit::isValid);
        KEPT.clear();
    }
}
