package io.github.distributedsemaphore.cli.live;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PictureTest {
    private final Snapshot snapshot = Model.snapshot();
    private final View view = new View();

    private static Picture picture(int width, int height, boolean unicode, boolean colour) {
        return new Picture(width, height, unicode, colour, ZoneOffset.UTC);
    }

    private List<String> plain(int width, int height) {
        return picture(width, height, true, false).lines(snapshot, view).stream()
                .map(String::stripTrailing)
                .toList();
    }

    @Test
    void aRowForEachSemaphore() {
        assertThat(plain(100, 10))
                .containsExactly(
                        "semaphore top  redis://127.0.0.1:6379  detection 10s                                        03:04:05",
                        "3 semaphores, 3 of 4 slots held; a reading every 1.0 s takes 3 ms",
                        "sorted by name",
                        "  NAME                   HELD                FREE  RETIRED   OLDEST  LAST 31 READINGS",
                        "  <script>               there is no such semaphore",
                        "  exports         +1 x1  ███████░░░     2/3     1        1   1m 01s  ▁█ ▅",
                        "  imports                ██████████     1/1     0        -        -  ████",
                        "",
                        "",
                        "? help  q quit  space pause  s sort  r reverse  / filter  ↑↓ select  enter holders  v all holders");
    }

    @Test
    void holdersStandBelowTheirSemaphoreAndNoTextOfTheirsCommandsTheTerminal() {
        view.press("v", snapshot);

        assertThat(plain(80, 12).subList(4, 10))
                .containsExactly(
                        "  <script>               there is no such semaphore",
                        "  exports         +1 x1  ███████░░░     2/3     1        1   1m 01s  ▁█ ▅",
                        "      slot 1    web2                pid 12      for 1h 06m    expired",
                        "      slot 2    web1                pid 4711    for 1s        held     nightly",
                        "      slot 5    web1                pid 4712    for 1m 01s    retired  ?[31m?ev…",
                        "  imports                ██████████     1/1     0        -        -  ████");
    }

    @Test
    void withoutUnicodeItIsAscii() {
        List<String> lines = picture(100, 10, false, false).lines(snapshot, view);

        assertThat(String.join("", lines)).matches("[ -~]*");
        assertThat(lines.get(5)).contains("#######...     2/3", "_# =");
    }

    @ParameterizedTest
    @CsvSource({"40, 10", "80, 24", "127, 8", "200, 3", "10, 2", "1, 1"})
    void noLineIsWiderAndNoMoreLinesThanFit(int width, int height) {
        view.press("v", snapshot);
        view.press("j", snapshot);

        List<String> lines = picture(width, height, true, true).lines(snapshot, view);
        assertThat(lines)
                .hasSize(height)
                .allSatisfy(line ->
                        assertThat(line.replaceAll("\u001b\\[[0-9;]*m", "")).hasSizeLessThanOrEqualTo(width));
    }

    @Test
    void noLineLosesItsLastColumnAndNoneKeepsWhatWasThereBefore() {
        List<String> lines = picture(80, 10, true, false).lines(snapshot, view);
        assertThat(lines).anyMatch(line -> line.length() == 80);

        assertThat(RawTerminal.frame(lines)).startsWith("\u001b[H").endsWith(lines.get(9));
        assertThat(RawTerminal.frame(lines).substring("\u001b[H".length()).lines())
                .containsExactlyElementsOf(
                        lines.stream().map(line -> "\u001b[K" + line).toList());
    }

    @Test
    void theSelectedRowStaysInSight() {
        view.press("v", snapshot);
        for (String name : List.of("<script>", "exports", "imports")) {
            view.press("j", snapshot);
            assertThat(plain(80, 7)).anyMatch(line -> line.startsWith("▶ " + name));
        }
    }

    @Test
    void aBackendThatIsSilentIsTheSecondLine() {
        Snapshot silent = snapshot.silent("Connection refused", Duration.ofSeconds(75));

        assertThat(picture(100, 10, true, false).lines(silent, view).get(1).strip())
                .isEqualTo("NO ANSWER for 1m 15s, shown is the last one: Connection refused");
        assertThat(picture(100, 10, true, true).lines(silent, view).get(1)).startsWith("\u001b[31;7mNO ANSWER");
    }

    @Test
    void whatWasChosenIsTheThirdLine() {
        view.press("s", snapshot);
        view.press("r", snapshot);
        view.press("/", snapshot);
        view.press("x", snapshot);
        assertThat(plain(100, 10).get(2)).isEqualTo("sorted by use, reversed; only names with: x_");
        view.press(Keys.ENTER, snapshot);
        view.press(" ", snapshot);
        assertThat(plain(100, 10).get(2)).isEqualTo("PAUSED  sorted by use, reversed; only names with: x");
        view.press("?", snapshot);
        assertThat(plain(100, 24)).contains("  any key returns");
    }

    @ParameterizedTest
    @CsvSource({"-5, 0s", "59, 59s", "60, 1m 00s", "3599, 59m 59s", "3600, 1h 00m", "86399, 23h 59m", "90000, 1d 01h"})
    void agesHaveTwoUnitsAtMost(long seconds, String text) {
        assertThat(Picture.age(Duration.ofSeconds(seconds))).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"漢字漢字漢字漢字漢字漢字", "e\u0301e\u0301e\u0301", "🚦🚦🚦🚦🚦🚦🚦🚦🚦🚦"})
    void wideCharactersAndMarksMoveNoColumn(String name) {
        Snapshot.Row row = new Snapshot.Row(name, snapshot.rows().get(1).now(), "", List.of(1));
        Snapshot one = new Snapshot(
                snapshot.source(),
                4,
                snapshot.at(),
                snapshot.took(),
                snapshot.pause(),
                "",
                Duration.ZERO,
                List.of(row),
                List.of(),
                List.of(0L));

        String line = picture(80, 10, true, false).lines(one, view).get(4);
        int columns = line.substring(0, line.indexOf("1/1"))
                .codePoints()
                .map(point -> point == 0x301 ? 0 : (point >= 0x4e00 && point < 0xa000) || point > 0xffff ? 2 : 1)
                .sum();
        assertThat(columns).isEqualTo(40);
    }
}
