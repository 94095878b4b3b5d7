package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

/** The example of docs/backends/postgresql.md, and a client over a data source. */
class FencedWriteTest {
    private static final Path DOCUMENT = Path.of("../docs/backends/postgresql.md");
    private static final Path SOURCE = Path.of("src/test/java/io/github/distributedsemaphore/jdbc/FencedWrite.java");
    private static final String BEGIN = "<!-- code: FencedWrite.java -->\n```java\n";

    private final PostgresServer server = PostgresServer.shared();
    private final PGSimpleDataSource database = new PGSimpleDataSource();

    @BeforeEach
    void prepare() {
        database.setServerNames(new String[] {"127.0.0.1"});
        database.setPortNumbers(new int[] {server.port()});
        database.setDatabaseName(PostgresServer.DATABASE);
        database.setUser(PostgresServer.USER);
        database.setPassword(PostgresServer.PASSWORD);
        server.execute(
                "CREATE TABLE fences (semaphore text, slot int, epoch bigint NOT NULL, PRIMARY KEY (semaphore, slot))",
                "CREATE TABLE reports (report text)");
    }

    @AfterEach
    void remove() {
        server.execute("DROP TABLE fences", "DROP TABLE reports");
    }

    private SemaphoreClient client() {
        return SemaphoreClient.builder(JdbcSemaphores.over(database, "fenced", Map.of("table", "fenced")))
                .connect();
    }

    @Test
    void aLateHolderChangesNothing() throws Exception {
        try (SemaphoreClient client = client()) {
            client.admin().create("reports", 1);
            DistributedSemaphore reports = client.semaphore("reports");
            FencedWrite store = new FencedWrite(database);
            Permit former = reports.acquire(Duration.ofSeconds(5));
            assertThat(store.store(former, "first")).isTrue();
            former.release();
            try (Permit successor = reports.acquire(Duration.ofSeconds(5))) {
                assertThat(store.store(successor, "second")).isTrue();
                assertThat(store.store(former, "late")).isFalse();
            }
            assertThat(client.admin().destroy("reports")).isTrue();
        }
        assertThat(server.query("SELECT report FROM reports ORDER BY report")).containsExactly("first", "second");
        server.execute("DROP TABLE fenced");
    }

    @Test
    void theDocumentShowsIt() throws IOException {
        String source = Files.readString(SOURCE)
                .lines()
                .filter(line -> !line.startsWith("package ") && !line.startsWith("import "))
                .collect(Collectors.joining("\n", "", "\n"))
                .stripLeading();
        String document = Files.readString(DOCUMENT);
        int begin = document.indexOf(BEGIN) + BEGIN.length();
        String expected = document.substring(0, begin) + source + document.substring(document.indexOf("```", begin));
        if (Boolean.getBoolean("tck.write.docs")) {
            Files.writeString(DOCUMENT, expected);
        }

        assertThat(DOCUMENT)
                .as("written anew by this test with -Dtck.write.docs=true")
                .hasContent(expected);
    }
}
