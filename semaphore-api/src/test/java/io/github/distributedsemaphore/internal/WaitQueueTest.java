package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.Deadline;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WaitQueueTest {
    private final WaitQueue queue = new WaitQueue();

    @Test
    void theFirstIsTheHeadUntilItLeaves() {
        assertThat(queue.head()).isNull();
        AcquireCall first = add(1);
        AcquireCall second = add(1);
        assertThat(queue.head()).isSameAs(first);
        queue.remove(first);
        assertThat(queue.head()).isSameAs(second);
        queue.remove(first);
        queue.remove(second);
        assertThat(queue.isAnyoneWaiting()).isFalse();
    }

    @Test
    void theFrontEndsWithTheFirstThatWantsSeveral() {
        assertThat(queue.front()).isEmpty();
        AcquireCall first = add(1);
        AcquireCall two = add(2);
        add(1);
        assertThat(queue.front()).containsExactly(first, two);
        queue.remove(two);
        assertThat(queue.front()).hasSize(2);
    }

    @Test
    void theFrontIsBounded() {
        List<AcquireCall> all = new ArrayList<>();
        for (int i = 0; i < 65; i++) {
            all.add(add(1));
        }
        assertThat(queue.front()).isEqualTo(all.subList(0, 64));
    }

    @Test
    void oneAttemptStandsBesideTheQueue() {
        AcquireCall attempt = new AcquireCall(1, Deadline.NEVER, true, () -> {});
        queue.add(attempt);
        assertThat(queue.isAnyoneWaiting()).isFalse();
        assertThat(queue.hasAttempts()).isTrue();
        assertThat(queue.takeAttempts()).containsExactly(attempt);
        assertThat(queue.hasAttempts()).isFalse();
        queue.add(attempt);
        queue.remove(attempt);
        assertThat(queue.takeAttempts()).isEmpty();
    }

    @Test
    void aQueueThatStopsEndsEveryCallAndSaysWhyNoneMayCome() {
        AcquireCall waiting = add(1);
        AcquireCall attempt = new AcquireCall(1, Deadline.NEVER, true, () -> {});
        queue.add(attempt);
        assertThat(queue.refusal()).isNull();
        queue.stop(() -> new IllegalStateException("stopped"));
        assertThat(List.of(waiting, attempt))
                .allSatisfy(call -> assertThatThrownBy(call::outcome).hasMessage("stopped"));
        assertThat(queue.isAnyoneWaiting() || queue.hasAttempts()).isFalse();
        assertThat(queue.isClosed()).isFalse();
        queue.close(() -> new IllegalStateException("closed"));
        queue.stop(() -> new IllegalStateException("stopped after that"));
        assertThat(queue.isClosed()).isTrue();
        assertThat(queue.refusal()).hasMessage("closed");
    }

    @Test
    void aWaiterEndsOnce() {
        AcquireCall waiter = add(1);
        waiter.refuse();
        assertThat(waiter.isDone()).isTrue();
        assertThat(waiter.outcome()).isEmpty();
        assertThatThrownBy(waiter::withdraw)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("REFUSED");
    }

    private AcquireCall add(int wanted) {
        AcquireCall waiter = new AcquireCall(wanted, Deadline.NEVER, false, () -> {});
        queue.add(waiter);
        return waiter;
    }
}
