package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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
            assertThatThrownBy(() -> client.admin().create("desks", 1)).isInstanceOf(BackendAccessException.class);

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
