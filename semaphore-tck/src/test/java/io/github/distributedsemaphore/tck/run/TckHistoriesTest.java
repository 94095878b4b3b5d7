package io.github.distributedsemaphore.tck.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which kinds of faults a quick run records. */
class TckHistoriesTest {
    private static Set<FaultShape> of(FaultShape.Place... places) {
        return Arrays.stream(FaultShape.values())
                .filter(shape -> Arrays.asList(places).contains(shape.place()))
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(FaultShape.class)));
    }

    @Test
    void everySeedHasChangesOfTheLimitAndAKindFromEachPlaceThatThereIs() {
        for (long seed = 0; seed < 200; seed++) {
            Set<FaultShape> chosen = TckHistories.chosen(EnumSet.allOf(FaultShape.class), seed);
            assertThat(chosen).contains(FaultShape.RESIZED).hasSize(5);
            assertThat(chosen.stream().map(FaultShape::place).collect(Collectors.toSet()))
                    .as("places, with seed %s", seed)
                    .containsExactlyInAnyOrder(FaultShape.Place.values());
        }
    }

    @Test
    void whatTheHarnessCannotBringAboutIsNotChosen() {
        Set<FaultShape> possible = of(FaultShape.Place.PROCESS, FaultShape.Place.NOWHERE);
        for (long seed = 0; seed < 50; seed++) {
            assertThat(TckHistories.chosen(possible, seed)).isEqualTo(possible);
        }
    }

    @Test
    void seedsChooseDifferently() {
        Set<FaultShape> ever = EnumSet.noneOf(FaultShape.class);
        for (long seed = 0; seed < 200; seed++) {
            ever.addAll(TckHistories.chosen(EnumSet.allOf(FaultShape.class), seed));
        }
        assertThat(ever).isEqualTo(EnumSet.allOf(FaultShape.class));
    }
}
