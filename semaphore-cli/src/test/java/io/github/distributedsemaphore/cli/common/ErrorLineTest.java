package io.github.distributedsemaphore.cli.common;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

final class ErrorLineTest {
    @Test
    void everyExceptionOfTheApiHasAnExitCode() {
        Set<Class<?>> leaves =
                Arrays.stream(SemaphoreException.class.getPermittedSubclasses()).collect(Collectors.toSet());

        assertThat(ErrorLine.codes().keySet()).isEqualTo(leaves);
    }

    @Test
    void theCodesAreThePromisedOnes() {
        assertThat(ErrorLine.code(new LimitConflictException("exports", 3, 4))).isEqualTo(3);
        assertThat(ErrorLine.code(new NoSuchSemaphoreException("none"))).isEqualTo(5);
        assertThat(ErrorLine.code(new BackendUnavailableException("down", null)))
                .isEqualTo(69);
        assertThat(ErrorLine.code(new IllegalArgumentException("bad"))).isEqualTo(64);
        assertThat(ErrorLine.code(new IllegalStateException("bug"))).isEqualTo(1);
    }

    @Test
    void aMessageOfSeveralLinesIsPrintedAsOne() {
        StringWriter err = new StringWriter();

        ErrorLine.print(new PrintWriter(err), "first\n   second\r\nthird\n");

        assertThat(err.toString().strip()).isEqualTo("semaphore: first; second; third");
    }

    @Test
    void aMessageDoesNotCommandTheTerminal() {
        StringWriter err = new StringWriter();

        ErrorLine.print(new PrintWriter(err), "a\u001b]0;x\u0007 b\u009bc");

        assertThat(err.toString().strip()).isEqualTo("semaphore: a?]0;x? b?c");
    }
}
