package io.github.distributedsemaphore.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ScaleCommandTest {
    private final StringWriter errors = new StringWriter();
    private final StringWriter figures = new StringWriter();

    private int scale(String arguments) {
        CommandLine line = new CommandLine(new ScaleCommand());
        line.setErr(new PrintWriter(errors, true)).setOut(new PrintWriter(figures, true));
        return line.execute(arguments.split(" "));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "redis --clients 0 | --clients is 0; it must be from 1 to 10000",
                "redis --clients 10001 | --clients is 10001; it must be from 1 to 10000",
                "redis --clients 5 --permits 6 | --permits is 6; it must be from 1 to 5",
                "redis --clients 5 --permits 5 --seconds 601 | --seconds is 601; it must be from 1 to 600",
                "redis --names 100001 | --names is 100001; it must be from 0 to 100000",
                "consul --names 5 | --names is 5; it must be from 0 to 0",
                "rabbitmq --clients 5 --permits 5 --share 2 | --share is 2; it must be from 1 to 1",
                "consul --restart | --restart is for redis only",
                "etcd --clients 5 --permits 5 | 'etcd' is no backend; there are: redis",
            })
    void aWrongCallNamesTheValueAndTheBound(String arguments, String message) {
        assertThat(scale(arguments)).isEqualTo(2);
        assertThat(errors.toString()).contains(message);
    }

    /** Takes half a minute, most of which it waits until the clients have settled. */
    @Test
    void aFewClientsTakeTurnsAndThePermitsOfTheDeadComeBack() {
        assertThat(scale("redis --clients 3 --permits 2 --seconds 1 --settings detection=2s"))
                .as(errors.toString())
                .isZero();
        assertThat(figures.toString())
                .containsPattern("redis-server \\S+, 3 clients, 2 permits, detection=2s")
                .containsPattern("grants a second, held for 10 ms +[1-9]")
                .containsPattern("acquires that failed +0\\.000")
                .containsPattern("all permits of the dead are free after, seconds +[0-4]\\.");
    }

    /** A quarter of a minute, for the same reason. */
    @Test
    void clientsThatShareConnectionsComeBackAfterARestart() {
        assertThat(scale("redis --clients 4 --permits 2 --seconds 1 --share 2 --restart --settings detection=2s"))
                .as(errors.toString())
                .isZero();
        assertThat(figures.toString())
                .containsPattern("4 clients, 2 permits, 2 share, detection=2s")
                .containsPattern("restart: clients that had none within three minutes +0\\.000");
    }

    @Test
    void namesWithAHolderEachAreFreeAgainWhenItDies() {
        assertThat(scale("redis --names 120 --seconds 1 --settings detection=2s"))
                .as(errors.toString())
                .isZero();
        assertThat(figures.toString())
                .containsPattern("permits that were lost +0\\.000")
                .containsPattern("all of a hundred names are free after, seconds +[0-9]\\.");
    }
}
