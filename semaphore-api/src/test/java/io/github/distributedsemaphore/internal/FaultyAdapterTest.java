package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.Renewal;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** An adapter that throws where it promised not to, or reports what is over. */
class FaultyAdapterTest {
    private final Stage stage = new Stage(1);
    private final AtomicInteger thrown = new AtomicInteger();

    /** What to do instead of a method of the session. */
    @FunctionalInterface
    private interface Instead {
        @Nullable
        Object of(BackendSession right, @Nullable Object[] arguments);
    }

    private void instead(String method, Instead other) {
        stage.adapter = right -> (BackendSession) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {BackendSession.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals(method)) {
                        return other.of(right, arguments);
                    }
                    try {
                        return called.invoke(right, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private IllegalStateException bug() {
        thrown.incrementAndGet();
        return new IllegalStateException("a bug of the adapter, logged");
    }

    @Test
    void aWatchThatThrowsOnCloseHarmsNoWaiter() {
        instead("watch", (right, arguments) -> {
            BackendSession.Watch watch = right.watch((Runnable) Objects.requireNonNull(arguments[0]));
            return (BackendSession.Watch) () -> {
                watch.close();
                throw bug();
            };
        });
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(waiting).isNotDone();
        other.release();
        stage.settle();
        stage.passMillis(60_000);
        assertThat(thrown).hasPositiveValue();
        assertThat(waiting).isCompleted();
        assertThat(waiting.join().release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(stage.free()).isEqualTo(1);
        assertThat(stage.take().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void anIntervalThatCannotBeHadTwiceDoesNotEndRenewals() {
        AtomicInteger asked = new AtomicInteger();
        instead("renewEvery", (right, arguments) -> {
            // By the exchange that grants, and by the first renewal.
            if (asked.incrementAndGet() <= 2) {
                throw bug();
            }
            return right.renewEvery();
        });
        Permit permit = stage.take();
        stage.pass(Stage.LEASE.multipliedBy(20));
        assertThat(thrown).hasValue(2);
        assertThat(permit.isValid()).isTrue();
    }

    @Test
    void aRenewalThatSaysNothingDoesNotEndRenewals() {
        instead("renew", (right, arguments) -> {
            if (thrown.getAndIncrement() == 0) {
                return new Renewal(null, Set.of(), Set.of());
            }
            Collection<?> holds = (Collection<?>) Objects.requireNonNull(arguments[0]);
            return right.renew(holds.stream().map(Hold.class::cast).toList());
        });
        Permit permit = stage.take();
        stage.pass(Stage.LEASE.multipliedBy(20));
        assertThat(thrown).hasValueGreaterThan(20);
        assertThat(permit.isValid()).isTrue();
    }

    /** Between exchanges a report of a hold that is not known is about one that is over. */
    @Test
    void oldNewsDoesNotEndALaterPermit() {
        List<Hold> granted = new ArrayList<>();
        stage.answers = result -> {
            result.answers().stream()
                    .filter(Answer.Granted.class::isInstance)
                    .forEach(answer -> granted.addAll(((Answer.Granted) answer).holds()));
            return result;
        };
        stage.take().release();
        Hold first = granted.get(0);
        Hold next = new Hold(1, first.lastEpoch() + 1, 2 * first.lastEpoch() + 1 - first.epoch());
        Objects.requireNonNull(stage.heard).lost(List.of(next), "old news");
        Permit second = stage.take();
        assertThat(granted).endsWith(next);
        assertThat(second.isValid()).isTrue();
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
