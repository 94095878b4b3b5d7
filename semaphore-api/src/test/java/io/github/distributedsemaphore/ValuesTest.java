package io.github.distributedsemaphore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The small values of the API: exceptions, guarantees, tokens. */
class ValuesTest {
    private final Throwable cause = new IllegalStateException("cause");

    @Test
    void eachLeafSaysItsMessageItsCauseAndWhetherToTryAgain() {
        check(new BackendUnavailableException("m", cause), true, cause);
        check(new OutcomeUnknownException("m", cause), true, cause);
        check(new BackendAccessException("m", cause), false, cause);
        check(new IncompatibleStateException("m", cause), false, cause);
        check(new NoSuchSemaphoreException("m"), false, null);
        check(new SemaphoreTimeoutException("m"), true, null);
        check(new SemaphoreClosedException("m"), false, null);
    }

    private static void check(SemaphoreException exception, boolean retryable, Throwable cause) {
        assertThat(exception).hasMessage("m").hasCause(cause);
        assertThat(exception.isRetryable()).as(exception.toString()).isEqualTo(retryable);
    }

    @Test
    void aConflictNamesBothLimits() {
        LimitConflictException conflict = new LimitConflictException("exports", 3, 5);
        assertThat(conflict).hasMessageContainingAll("'exports'", "3", "5", "resize");
        assertThat(conflict.found()).isEqualTo(3);
        assertThat(conflict.requested()).isEqualTo(5);
        assertThat(conflict.isRetryable()).isFalse();
    }

    @Test
    void guaranteesDoNotChangeWithTheirBuilder() {
        GuaranteesBuilder builder = GuaranteesBuilder.of("memory")
                .capabilities(Capability.LEASE)
                .detection(Duration.ofSeconds(1), Duration.ofSeconds(2))
                .exposure(Fault.LINK_CUT, Duration.ZERO)
                .sizes(10, 20)
                .notes("a", "b");
        Guarantees first = builder.build();
        builder.capabilities(Capability.FENCING)
                .exposure(Fault.CLIENT_CRASH, Exposure.UNBOUNDED)
                .notes("c");
        assertThat(first.capabilities()).containsExactly(Capability.LEASE).isUnmodifiable();
        assertThat(first.exposure(Fault.LINK_CUT)).isEqualTo(Exposure.NONE);
        assertThat(first.exposure(Fault.CLIENT_CRASH)).isEqualTo(Exposure.CANNOT_HAPPEN);
        assertThat(first.notes()).containsExactly("a", "b").isUnmodifiable();
        assertThat(builder.build().notes()).containsExactly("a", "b", "c");
        assertThat(first.has(Capability.LEASE)).isTrue();
        assertThat(first.has(Capability.FENCING)).isFalse();
        assertThat(first.handOffBound()).isZero();
    }

    @Test
    void guaranteesAreCopiedWhole() {
        GuaranteesBuilder builder = GuaranteesBuilder.of("memory")
                .capabilities(Capability.LEASE, Capability.FENCING)
                .detection(Duration.ofSeconds(1), Duration.ofSeconds(2))
                .lossNoticeBound(Duration.ofSeconds(3))
                .wakeUpBound(Duration.ofSeconds(4))
                .callBound(Duration.ofSeconds(5))
                .handOffBound(Duration.ofSeconds(6))
                .exposure(Fault.LINK_CUT, Duration.ofSeconds(7))
                .exposure(Fault.FAIL_OVER, Exposure.UNBOUNDED)
                .sizes(10, 20)
                .notes("a", "b");
        assertThat(GuaranteesBuilder.from(builder.build()).build()).isEqualTo(builder.build());
        Guarantees less = GuaranteesBuilder.from(builder.build())
                .without(Capability.LEASE)
                .build();
        assertThat(less.capabilities()).containsExactly(Capability.FENCING);
        assertThat(less.exposure(Fault.FAIL_OVER)).isEqualTo(Exposure.UNBOUNDED);
    }

    @Test
    void anExposureCoversOverlapsUpToItsLength() {
        Exposure second = Exposure.atMost(Duration.ofSeconds(1));
        assertThat(second.covers(Duration.ofSeconds(1))).isTrue();
        assertThat(second.covers(Duration.ofMillis(1_001))).isFalse();
        assertThat(second.longest()).contains(Duration.ofSeconds(1));
        assertThat(second).isEqualTo(Exposure.atMost(Duration.ofSeconds(1))).hasToString("at most PT1S");
        assertThat(Exposure.UNBOUNDED.covers(Duration.ofDays(1_000))).isTrue();
        assertThat(Exposure.UNBOUNDED.allowsOverlap()).isTrue();
        assertThat(Exposure.UNBOUNDED.longest()).isEmpty();
        assertThat(Exposure.atMost(Duration.ZERO)).isSameAs(Exposure.NONE).isNotEqualTo(Exposure.CANNOT_HAPPEN);
        assertThat(Exposure.NONE.covers(Duration.ofNanos(1))).isFalse();
        assertThat(Exposure.NONE.allowsOverlap()).isFalse();
        assertThat(Exposure.CANNOT_HAPPEN.allowsOverlap()).isFalse();
        assertThatThrownBy(() -> Exposure.atMost(Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT-0.001S");
    }

    @Test
    void aDescriptionKeepsACopyOfItsHolders() {
        Holder holder = new Holder(1, 2, "host", 3, "", null, HolderState.HELD);
        SemaphoreDescription description = new SemaphoreDescription("exports", 1, 0, List.of(holder));
        assertThat(description.holders()).containsExactly(holder).isUnmodifiable();
        assertThat(new Fence(2, 17)).hasToString("2@17");
    }

    @Test
    void aHolderIsThisProcessAndItsLabelIsBounded() {
        HolderInfo self = HolderInfo.ofThisProcess("l".repeat(HolderInfo.MAX_LABEL));
        assertThat(self.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(self.host()).isNotBlank();
        assertThat(catchMessage(() -> HolderInfo.ofThisProcess("l".repeat(201))))
                .contains("201", "200");
        assertThat(catchMessage(() -> HolderInfo.ofThisProcess("a\nb"))).contains("control character");
    }

    /** Which the kernel knows, whatever a name server says. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aHolderIsOnThisHost() throws IOException {
        assertThat(HolderInfo.ofThisProcess("").host())
                .isEqualTo(
                        Files.readString(Path.of("/proc/sys/kernel/hostname")).strip());
    }

    private static String catchMessage(Runnable code) {
        try {
            code.run();
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
        throw new AssertionError("not refused");
    }

    @Test
    void anExceptionThatIsAboutASemaphoreKeepsItsKindAndNamesItInItsMessageOnce() {
        List<SemaphoreException> leaves = List.of(
                new BackendUnavailableException("down", null),
                new OutcomeUnknownException("down", null),
                new BackendAccessException("down", null),
                new IncompatibleStateException("down", null),
                new NoSuchSemaphoreException("down"),
                new SemaphoreTimeoutException("down"),
                new SemaphoreClosedException("down"));
        for (SemaphoreException leaf : leaves) {
            SemaphoreException named = leaf.about("o");
            assertThat(named)
                    .hasSameClassAs(leaf)
                    .hasMessage("Semaphore 'o': down")
                    .hasCause(leaf);
            assertThat(named.semaphore()).contains("o");
            assertThat(leaf.semaphore()).isEmpty();
            assertThat(named.about("o")).hasMessage("Semaphore 'o': down").hasCause(named);
        }
        LimitConflictException conflict = new LimitConflictException("o", 2, 3);
        assertThat(conflict.semaphore()).contains("o");
        assertThat(conflict.about("o")).isInstanceOfSatisfying(LimitConflictException.class, copy -> {
            assertThat(copy.found()).isEqualTo(2);
            assertThat(copy.requested()).isEqualTo(3);
            assertThat(copy).hasMessage(conflict.getMessage());
        });
        assertThat(new SemaphoreTimeoutException("late", "o").semaphore()).contains("o");
    }
}
