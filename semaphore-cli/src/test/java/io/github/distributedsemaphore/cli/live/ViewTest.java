package io.github.distributedsemaphore.cli.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ViewTest {
    private final Snapshot snapshot = Model.snapshot();
    private final View view = new View();

    private View press(String... keys) {
        List.of(keys).forEach(key -> view.press(key, snapshot));
        return view;
    }

    private List<String> names() {
        return view.rows(snapshot).stream().map(Row::name).toList();
    }

    private List<String> selected() {
        return view.rows(snapshot).stream()
                .filter(view::isSelected)
                .map(Row::name)
                .toList();
    }

    @Test
    void sortsByNameUseOldestHoldAndLastChange() {
        assertThat(names()).containsExactly("<script>", "exports", "imports");
        press("s");
        assertThat(names()).containsExactly("imports", "exports", "<script>");
        press("s");
        assertThat(names()).startsWith("exports");
        press("s");
        assertThat(names()).containsExactly("exports", "imports", "<script>");
        press("r");
        assertThat(names()).containsExactly("<script>", "imports", "exports");
        press("r", "s");
        assertThat(view.sort()).isEqualTo(View.Sort.NAME);
    }

    @Test
    void theFilterTakesWhatIsTypedUntilEnterAndEscapeClearsIt() {
        press("/", "P", "o", "x", Keys.BACKSPACE, "r", "q");
        assertThat(view.isOver()).as("a q in the filter is a letter").isFalse();
        press(Keys.BACKSPACE, Keys.ENTER);
        assertThat(names()).containsExactly("exports", "imports");
        assertThat(view.isTyping()).isFalse();
        press(Keys.ESCAPE);
        assertThat(names()).hasSize(3);
        press("/", "e", "x", Keys.ESCAPE);
        assertThat(names()).hasSize(3);
    }

    @Test
    void selectsRoundTheRowsAndKeepsTheNameWhenTheOrderChanges() {
        assertThat(selected()).isEmpty();
        press("j", Keys.DOWN);
        assertThat(selected()).containsExactly("exports");
        press("s", "r");
        assertThat(selected()).containsExactly("exports");
        press("r", "s", "s", "s", Keys.UP, "k");
        assertThat(selected()).containsExactly("imports");
    }

    @Test
    void holdersAreShownOfTheSelectedOneOrOfAll() {
        press(Keys.DOWN, Keys.DOWN, Keys.ENTER);
        assertThat(view.rows(snapshot).stream().filter(view::showsHolders).map(Row::name))
                .containsExactly("exports");
        press(Keys.ENTER);
        assertThat(view.rows(snapshot)).noneMatch(view::showsHolders);
        press("v");
        assertThat(view.rows(snapshot)).allMatch(view::showsHolders);
    }

    @Test
    void anyKeyLeavesTheHelpAndQuitIsQuit() {
        press("?", "q");
        assertThat(view.isOver()).isFalse();
        assertThat(view.showsHelp()).isFalse();
        assertThat(press(" ").isPaused()).isTrue();
        assertThat(press("p").isPaused()).isFalse();
        assertThat(press("q").isOver()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"?", "/", "s"})
    void afterTheEndOfInputNoKeyCanComeSoItIsTheEndInEveryMode(String mode) {
        assertThat(press(mode, Keys.END_OF_INPUT).isOver()).isTrue();
    }

    @Test
    void keysAreReadFromTheBytesOfATerminal() throws IOException {
        Keys keys = new Keys(
                new ByteArrayInputStream("qé漢\u001b[A\u001bOB\u001b[1;5C\u001b[5~\r\n\u007f\b\u0003\u0001\u001b"
                        .getBytes(StandardCharsets.UTF_8)));

        for (String key : List.of(
                "q",
                "é",
                "漢",
                Keys.UP,
                Keys.DOWN,
                "<other>",
                "<other>",
                Keys.ENTER,
                Keys.ENTER,
                Keys.BACKSPACE,
                Keys.BACKSPACE,
                Keys.CONTROL_C,
                "<other>",
                Keys.ESCAPE,
                Keys.END_OF_INPUT)) {
            assertThat(keys.next()).isEqualTo(key);
        }
        assertThat(Keys.isText("漢")).isTrue();
        assertThat(Keys.isText(Keys.UP)).isFalse();
    }
}
