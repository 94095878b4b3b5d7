package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.PermitLoss;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class LossListenersTest {
    private static final PermitLoss LOSS = new PermitLoss("exports", 1, LossCause.TAKEN_BY_BACKEND, "because");

    private final SteppedEnvironment environment = new SteppedEnvironment();
    private final HeldPermit.LossListeners listeners = new HeldPermit.LossListeners(environment);
    private final List<PermitLoss> told = new ArrayList<>();

    @Test
    void eachIsToldOnceOfTheFirstLossOnATaskOfItsOwn() {
        listeners.add(told::add);
        listeners.add(told::add);
        listeners.lost(LOSS);
        listeners.lost(new PermitLoss("exports", 1, LossCause.TAKEN_BY_BACKEND, "again"));
        assertThat(told).as("not on the thread that found the loss").isEmpty();
        environment.settle();
        assertThat(told).containsExactly(LOSS, LOSS);
    }

    @Test
    void oneThatComesAfterTheLossIsToldToo() {
        listeners.lost(LOSS);
        listeners.add(told::add);
        environment.settle();
        assertThat(told).containsExactly(LOSS);
    }

    @Test
    void oneThatThrowsDoesNotKeepTheNewsFromOthers() {
        listeners.add(loss -> {
            throw new IllegalStateException("a listener's bug");
        });
        listeners.add(told::add);
        listeners.lost(LOSS);
        environment.settle();
        assertThat(told).containsExactly(LOSS);
        assertThat(environment.thrown()).hasSize(1);
    }

    @Test
    void oneThatIsRemovedIsNotTold() {
        Consumer<PermitLoss> removed = told::add;
        listeners.remove(removed);
        listeners.add(removed);
        listeners.add(told::add);
        listeners.remove(removed);
        listeners.lost(LOSS);
        listeners.remove(removed);
        environment.settle();
        assertThat(told).containsExactly(LOSS);
    }

    @Test
    void oneThatAddsAnotherIsFine() {
        listeners.add(loss -> listeners.add(told::add));
        listeners.lost(LOSS);
        environment.settle();
        assertThat(told).containsExactly(LOSS);
    }
}
