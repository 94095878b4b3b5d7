package io.github.distributedsemaphore.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {
    @ParameterizedTest
    @CsvSource({"0s,PT0S", "5us,PT0.000005S", "500ms,PT0.5S", "30s,PT30S", "5m,PT5M", "2h,PT2H", "3d,PT72H"})
    void readsAndWritesTheSame(String text, Duration duration) {
        assertThat(Durations.parse(text)).isEqualTo(duration);
        assertThat(Durations.format(duration)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"PT1.5S,1500ms", "PT60S,1m", "PT90S,90s", "PT24H,1d", "PT0.0000019S,1us", "PT0.0000001S,0s"})
    void writesTheLargestUnitThatLosesNothing(Duration duration, String text) {
        assertThat(Durations.format(duration)).isEqualTo(text);
    }

    @Test
    void readsBackWhateverItWrites() {
        Random random = new Random(7);
        for (int i = 0; i < 1_000; i++) {
            Duration duration = Duration.ofNanos(1_000 * random.nextLong(1L << random.nextInt(1, 40)));
            assertThat(Durations.parse(Durations.format(duration))).isEqualTo(duration);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "s", "-5s", "1.5s", "5 s", "5S", "1e3s", "9999999999999s", "\u0663s", "5s5"})
    void refusesWhatIsNoDuration(String text) {
        assertThatThrownBy(() -> Durations.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + text + "'")
                .hasMessageContaining("500ms");
    }

    @Test
    void readsTheLargest() {
        assertThat(Durations.parse("999999999999d")).isEqualTo(Duration.ofDays(999_999_999_999L));
    }

    @Test
    void writesWhatIsFarTooLongWithoutMakingItShort() {
        assertThat(Durations.format(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE + "s");
        Duration odd = Duration.ofSeconds(Long.MAX_VALUE, 1_000);
        assertThatThrownBy(() -> Durations.parse(Durations.format(odd))).isInstanceOf(IllegalArgumentException.class);
    }
}
