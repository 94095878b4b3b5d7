package io.github.distributedsemaphore.cli.common;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class TerminalTest {
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
