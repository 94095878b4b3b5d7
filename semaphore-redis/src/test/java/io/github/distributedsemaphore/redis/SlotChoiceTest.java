package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which slots a client tries first. */
class SlotChoiceTest {
    private static ArmedState allFree(int limit) {
        Control control = new Control(limit, 0, "server", "");
        return new ArmedState(control, 1, 0, Set.of(), Long.MAX_VALUE, List.of(), 0, false, true, 0);
    }

    @Test
    void aClientThatUsesOneSlotOverAndOverDoesNotForgetTheOthersItHad() {
        SlotChoice choice = new SlotChoice();
        choice.released(7);
        for (int i = 0; i < 20; i++) {
            choice.released(5);
        }
        assertThat(choice.choose(2, allFree(10), List.of(), false, List.of(), Set.of()))
                .containsExactlyInAnyOrder(5, 7);
    }
}
