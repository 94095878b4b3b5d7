package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An application that may not make tables works with the one that an operator made by the script. */
class SchemaTest {
    private final PostgresServer server = PostgresServer.shared();
    private final String uri = server.uri("clerk", "clerk-password", "?schema=office&table=limits");

    @BeforeEach
    void makeUser() {
        removeUser();
        server.execute(
                "CREATE SCHEMA office",
                "CREATE ROLE clerk LOGIN PASSWORD 'clerk-password'",
                "GRANT USAGE ON SCHEMA office TO clerk");
    }

    @AfterEach
    void removeUser() {
        server.execute("DROP SCHEMA IF EXISTS office CASCADE", "DROP ROLE IF EXISTS clerk");
    }

    @Test
    void theScriptAndFourRightsAreEnough() throws Exception {
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            assertThatThrownBy(() -> client.admin().create("desks", 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("there is no table 'office.limits', and this user may not make it")
                    .hasMessageContaining("JdbcSemaphores.schema(\"postgresql\", \"office.limits\")");

            server.execute(
                    JdbcSemaphores.schema("postgresql", "office.limits"),
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON office.limits TO clerk");

            assertThat(client.admin().create("desks", 1)).isTrue();
            try (Permit permit = client.semaphore("desks").acquire()) {
                assertThat(permit.slot()).isEqualTo(1);
            }
            assertThat(client.admin().destroy("desks")).isTrue();
        }
    }

    /** The first CREATE meets that of another client, which has made the table meanwhile. */
    private static <T> T overtaken(Class<T> type, T target, SQLException first, AtomicBoolean done) {
        return type.cast(Proxy.newProxyInstance(
                SchemaTest.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    Object result = method.invoke(target, arguments);
                    if (method.getName().equals("createStatement")) {
                        return overtaken(Statement.class, (Statement) result, first, done);
                    }
                    if (method.getName().equals("execute") && !done.getAndSet(true)) {
                        throw first;
                    }
                    return result;
                }));
    }

    /** Its table; the type of its table; a row of the catalog. */
    @ParameterizedTest
    @ValueSource(strings = {"42P07", "42710", "23505"})
    void ofTwoThatCreateTheTableAtOnceBothWrite(String state) {
        SQLException first = new SQLException("it already exists", state);
        AtomicBoolean done = new AtomicBoolean();
        Connections connections = new Connections(
                () -> overtaken(Connection.class, server.connect(), first, done),
                Duration.ofSeconds(10),
                1,
                "the test");
        try (JdbcStore store = new JdbcStore(connections, Dialect.POSTGRESQL, "office.raced", null)) {
            CasStore.Change change = new CasStore.Change("desks", 0, "text", "");

            assertThat(store.write(change, connections.deadline()).done()).isTrue();
        }
        assertThat(done).as("whether a CREATE failed").isTrue();
    }

    /** The constraint refuses every attempt, so a retry is useless. */
    @Test
    void whatAConstraintRefusesIsNamedAtOnce() {
        server.execute(
                JdbcSemaphores.schema("postgresql", "office.limits"),
                "ALTER TABLE office.limits ADD owner text NOT NULL",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON office.limits TO clerk");
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            assertThatThrownBy(() -> client.admin().create("desks", 1))
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining("owner");
        }
    }

    /** A table brings a type of its name along. */
    @Test
    void whatElseHasTheNameOfTheTableIsNamed() {
        server.execute("CREATE TYPE office.limits AS ENUM ()", "GRANT CREATE ON SCHEMA office TO clerk");
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            assertThatThrownBy(() -> client.admin().create("desks", 1))
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining("42710");
        }
    }

    @Test
    void theScriptLiesInTheJarAndInTheDocument() throws IOException {
        String script;
        try (InputStream file = JdbcSemaphores.class.getResourceAsStream("postgresql.sql")) {
            script = new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }

        assertThat(JdbcSemaphores.schema("postgresql", "semaphores")).isEqualTo(script);
        assertThat(Files.readString(Path.of("..", "docs", "backends", "postgresql.md")))
                .contains(script.substring(script.indexOf("CREATE")).strip() + ";\nGRANT");
    }
}
