package io.github.distributedsemaphore.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
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
                "consul --names 20001 | --names is 20001; it must be from 0 to 20000",
                "rabbitmq --clients 5 --permits 5 --share 2 | --share is 2; it must be from 1 to 1",
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

    /** Half a minute, for the same reason. */
    @Test
    void clientsOfABrokerComeBackAfterARestart() {
        assertThat(scale("rabbitmq --clients 3 --permits 2 --seconds 1 --restart"))
                .as(errors.toString())
                .isZero();
        assertThat(figures.toString())
                .contains("3 clients, 2 permits")
                .containsPattern("restart: clients that had none within three minutes +0\\.000");
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis --settings detection=2s", "postgresql --settings detection=4s"})
    void namesWithAHolderEachAreFreeAgainWhenItDies(String server) {
        assertThat(scale(server + " --names 120 --seconds 1"))
                .as(errors.toString())
                .isZero();
        assertThat(figures.toString())
                .containsPattern("permits that were lost +0\\.000")
                .containsPattern("all of a hundred names are free after, seconds +[0-9]\\.");
    }
}
