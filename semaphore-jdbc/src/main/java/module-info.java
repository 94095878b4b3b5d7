/** The backend for SQL databases: a table, and a compare-and-set on a row of it. */
module io.github.distributedsemaphore.jdbc {
    requires transitive io.github.distributedsemaphore.api;
    requires transitive java.sql;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.jdbc;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.jdbc.JdbcBackendProvider;
}
