package io.github.distributedsemaphore.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class InterruptShieldTest {
    private static final long LONG = TimeUnit.MINUTES.toNanos(10);

    @AfterEach
    void leaveNoInterruptToTheNextTest() {
        Thread.interrupted();
    }

    @Test
    void handsBackAnInterruptFromBefore() {
        Thread.currentThread().interrupt();
        try (InterruptShield shield = new InterruptShield()) {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            shield.absorb();
        }
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void handsBackAnInterruptThatEndedAPause() {
        try (InterruptShield shield = new InterruptShield()) {
            Thread.currentThread().interrupt();
            shield.pause(LONG);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void handsBackAnInterruptThatWasCaught() {
        try (InterruptShield shield = new InterruptShield()) {
            Thread.currentThread().interrupt();
            try {
                Thread.sleep(TimeUnit.NANOSECONDS.toMillis(LONG));
            } catch (InterruptedException e) {
                shield.absorb(e);
            }
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInnerShieldHandsItToTheOuterOne() {
        Thread.currentThread().interrupt();
        try (InterruptShield outer = new InterruptShield()) {
            try (InterruptShield inner = new InterruptShield()) {
                inner.absorb();
                Thread.currentThread().interrupt();
            }
            outer.absorb();
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void makesNoInterruptOfItsOwn() {
        try (InterruptShield shield = new InterruptShield()) {
            shield.pause(1);
            shield.pause(-1);
        }
        assertThat(Thread.interrupted()).isFalse();
    }
}
