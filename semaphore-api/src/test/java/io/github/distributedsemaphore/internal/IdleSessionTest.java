package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.spi.BackendSession;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Sessions of semaphores that nobody uses any more. */
class IdleSessionTest {
    private static final Duration A_WHILE = Duration.ofMinutes(2);

    private final Stage stage = new Stage(1);

    @Test
    void aSessionThatIsNotUsedForAWhileIsClosedAndOpenedAgainWhenItIs() {
        stage.take().release();
        assertThat(stage.server.openSessions()).isEqualTo(1);
        stage.pass(A_WHILE);
        assertThat(stage.server.openSessions()).isZero();
        assertThat(stage.take().isValid()).isTrue();
        assertThat(stage.calls("open")).isEqualTo(2);
    }

    @Test
    void aSessionThatIsNotUsedIsClosedAlsoIfThereWasNoMemoryForTheTimerOnce() {
        stage.environment.failNextTimerOf("lookLater");
        assertThatThrownBy(stage::take).isInstanceOf(OutOfMemoryError.class);
        stage.take().release();
        stage.pass(A_WHILE);
        assertThat(stage.server.openSessions()).isZero();
    }

    @Test
    void aSessionThatHoldsOrWaitsIsKept() {
        Permit held = stage.take();
        stage.pass(A_WHILE);
        assertThat(held.isValid()).isTrue();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        held.release();
        stage.settle();
        assertThat(waiting).isCompleted();
        assertThat(stage.calls("open")).isEqualTo(1);
    }

    @Test
    void manyNamesLeaveNothingBehind() {
        WeakReference<Object> first = new WeakReference<>(stage.client.semaphore("name 0"));
        for (int i = 0; i < 1_000; i++) {
            stage.client.admin().create("name " + i, 1);
            stage.client.semaphore("name " + i).tryAcquire().orElseThrow().release();
        }
        assertThat(stage.server.openSessions()).isEqualTo(1_000);
        assertThat(first.get()).as("a semaphore whose session is in use").isNotNull();
        stage.pass(A_WHILE);
        assertThat(stage.server.openSessions()).isZero();
        assertThat(stage.environment.timers()).isZero();
        await().untilAsserted(() -> {
            System.gc();
            assertThat(first.get()).isNull();
        });
    }

    @Test
    void aSemaphoreThatTheApplicationKeepsStaysTheSame() {
        stage.take().release();
        stage.pass(A_WHILE);
        System.gc();
        assertThat(stage.client.semaphore(Stage.NAME)).isSameAs(stage.semaphore);
    }

    /** As long as that name is in use the sessions of all others would stay. */
    @Test
    void aNameThatIsUsedAgainWhileItsSessionIsClosedHoldsUpNoOther() {
        for (int i = 0; i < 20; i++) {
            stage.client.admin().create("name " + i, 1);
            stage.client.semaphore("name " + i).tryAcquire().orElseThrow().release();
        }
        stage.adapter = right -> (BackendSession) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {BackendSession.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals("close")) {
                        CompletableFuture<Permit> unused = stage.semaphore.acquireAsync(Duration.ZERO);
                    }
                    return called.invoke(right, arguments);
                });
        stage.take().release();
        stage.adapter = UnaryOperator.identity();
        List<Integer> open = new ArrayList<>();
        stage.before("exchange", () -> open.add(stage.server.openSessions()));
        stage.pass(A_WHILE);
        assertThat(open).as("sessions that are open when it is used again").containsExactly(1);
    }
}
