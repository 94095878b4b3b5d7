package io.github.distributedsemaphore.cli.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

final class TerminalTest {
    @Test
    void aLineThatIsReplacedDoesNotWrapInANarrowTerminal() {
        StringWriter terminal = new StringWriter();
        Terminal.replaceLine(new PrintWriter(terminal), "waiting");

        assertThat(terminal.toString()).isEqualTo("\r\u001b[K\u001b[?7lwaiting\u001b[?7h");
    }

    @Test
    void aProcessWhoseGroupOwnsTheTerminalIsInTheForeground() {
        assertThat(Terminal.isForeground("4711 (java) S 1 4711 4000 34816 4711 4194304 0"))
                .isTrue();
    }

    @Test
    void aProcessOfAnotherGroupOrWithoutATerminalIsNot() {
        assertThat(Terminal.isForeground("4711 (java) S 1 4711 4000 34816 4000 4194304 0"))
                .isFalse();
        assertThat(Terminal.isForeground("4711 (java) S 1 4711 4000 0 -1 4194304 0"))
                .isFalse();
    }

    @Test
    void aNameWithSpacesAndParenthesesShiftsNothing() {
        assertThat(Terminal.isForeground("4711 (a) S 9 9 9 (b) S 1 4711 4000 34816 4711 4194304 0"))
                .isTrue();
    }
}
