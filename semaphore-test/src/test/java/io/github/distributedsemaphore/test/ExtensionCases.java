package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests as an application has them, of which some fail on purpose: {@link SemaphoreExtensionTest} runs them. */
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
    void losesTheAnswerToItsLastCall(TestSemaphores semaphores) {
        DistributedSemaphore exports = semaphores.create("exports", 1);
        semaphores.unknownOutcomeOnce();
        assertThatThrownBy(exports::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
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

    @Nested
    class HasThemInItsConstructor {
        private final TestSemaphores semaphores;

        HasThemInItsConstructor(TestSemaphores semaphores) {
            this.semaphores = semaphores;
        }

        @Test
        void hasThoseOfItsTest(TestSemaphores ofTest) {
            assertThat(semaphores).isSameAs(ofTest);
        }

        @Test
        void keepsOneOfItsConstructor() {
            KEPT.add(semaphores.create("exports", 1).tryAcquire().orElseThrow());
        }
    }

    @Nested
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class HasOneInstance {
        HasOneInstance(TestSemaphores semaphores) {
            KEPT.add(semaphores.create("exports", 1).tryAcquire().orElseThrow());
        }

        @Test
        void doesNotRun() {}
    }

    @Nested
    class WantsThemBeforeAllTests {
        @BeforeAll
        static void wantsThem(SemaphoreClient client) {
            KEPT.add(client.semaphore("exports").tryAcquire().orElseThrow());
        }

        @Test
        void doesNotRun() {}
    }

    @AfterAll
    static void whatWasKeptIsLost() {
        assertThat(KEPT).noneMatch(Permit::isValid);
        KEPT.clear();
    }
}
