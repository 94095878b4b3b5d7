package io.github.distributedsemaphore.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ScreenTest {
    private final StringWriter text = new StringWriter();
    private final PrintWriter out = new PrintWriter(text);

    private static Screen.Picture picture(double seconds, String... news) {
        Turn turn = new Turn(4, 2, 9, 0, Turn.OPEN);
        return new Screen.Picture(seconds, Map.of(2, turn), List.of(1, 3), List.of(news));
    }

    @Test
    void thePlainScreenPrintsALineASecondAndNewsAtOnce() {
        Screen screen = new PlainScreen(out);
        screen.show(picture(0.0));
        screen.show(picture(0.1));
        screen.show(picture(0.2, "it rains"));
        screen.show(picture(0.3, "it rains"));
        screen.show(picture(1.0, "it rains"));
        screen.close();

        assertThat(text.toString().lines())
                .containsExactly(
                        "   0.0 s  slot 1: free      slot 2: worker 4  slot 3: free      waiting: 1 3",
                        "   0.2 s  it rains",
                        "   1.0 s  slot 1: free      slot 2: worker 4  slot 3: free      waiting: 1 3");
    }

    @Test
    void aSlotWhoseHolderWasKilledIsNotShownAsFree() {
        Screen.Picture picture = new Screen.Picture(0.5, Map.of(2, new Turn(4, 2, 9, 0, 400)), List.of(1), List.of());
        new PlainScreen(out).show(picture);
        new LiveScreen(out, Duration.ofSeconds(12)).show(picture);

        assertThat(text.toString().lines().filter(line -> line.contains("killed")))
                .hasSize(2);
    }

    @Test
    void theLiveScreenDrawsOverItselfAndGivesTheCursorBack() {
        Screen screen = new LiveScreen(out, Duration.ofSeconds(12));
        screen.show(picture(0.0));
        screen.show(picture(0.5));
        screen.close();

        assertThat(text.toString())
                .startsWith("\u001b[?25l")
                .contains("\u001b[4A")
                .endsWith("\u001b[?25h");
        String plain = text.toString().replaceAll("\u001b\\[[?0-9]*[a-zA-Z]", "");
        assertThat(plain.lines()).hasSize(8).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
        assertThat(plain.lines().skip(4).toList().get(1)).startsWith("  slot 2  444");
    }

    @Test
    void noLineOfTheLiveScreenWrapsOrLosesItsEndInANarrowTerminal() {
        Screen screen = new LiveScreen(out, Duration.ofSeconds(12));
        screen.show(picture(0.0, "it rains"));
        screen.close();

        assertThat(text.toString().lines().limit(5))
                .hasSize(5)
                .allMatch(line -> line.matches("(\u001b\\[\\?25l)?\u001b\\[K\u001b\\[\\?7l  .*\u001b\\[\\?7h"))
                .noneMatch(line -> line.lastIndexOf("\u001b[K") > line.indexOf("\u001b[?7l"));
    }

    @Test
    void aLiveScreenThatShowedNothingLeavesTheTerminalAlone() {
        new LiveScreen(out, Duration.ofSeconds(12)).close();

        assertThat(text.toString()).isEmpty();
    }
}
