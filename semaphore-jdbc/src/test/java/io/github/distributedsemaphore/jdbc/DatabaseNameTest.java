package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.SemaphoreClient;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Names of databases that a URL has in another form. */
class DatabaseNameTest {
    private final PostgresServer server = PostgresServer.shared();

    /** The driver decoded once more what was decoded. */
    @ParameterizedTest
    @CsvSource({"a+b, a+b", "a+b, a%2Bb", "a%41b, a%2541b", "a b, a%20b", "\u00e4, \u00e4", "\u00e4, %C3%A4"})
    void theDatabaseIsTheOneThatTheUriNames(String name, String inUri) {
        String jdbc = "jdbc:postgresql://127.0.0.1:" + server.port() + "/" + inUri + "?user=" + PostgresServer.USER
                + "&password=" + PostgresServer.PASSWORD;
        server.execute("CREATE DATABASE \"" + name + "\"");
        try {
            assertThatItConnectsTo(name, server.uri("?").replace("/" + PostgresServer.DATABASE + "?", "/" + inUri));
            assertThatItConnectsTo(name, jdbc);
        } finally {
            server.execute("DROP DATABASE \"" + name + "\" WITH (FORCE)");
        }
    }

    private void assertThatItConnectsTo(String name, String uri) {
        List<?> before = connections(name);
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            client.admin().create("jobs", 1);

            // The server may not have noticed yet that the connection of the client before was closed.
            assertThat(connections(name)).as(uri).anyMatch(pid -> !before.contains(pid));
        }
    }

    private List<?> connections(String name) {
        return server.query("SELECT pid FROM pg_stat_activity WHERE datname = '" + name + "'");
    }
}
