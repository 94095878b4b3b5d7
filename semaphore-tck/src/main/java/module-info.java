/** The compatibility kit: the tests by which an adapter shows that it keeps what the API promises. */
@SuppressWarnings("requires-automatic") // HdrHistogram is no module and names none
module io.github.distributedsemaphore.tck {
    requires transitive io.github.distributedsemaphore.api;
    requires transitive org.junit.jupiter.api;
    requires org.junit.jupiter.params;
    requires org.junit.platform.engine;
    requires org.junit.platform.launcher;
    requires transitive org.opentest4j;
    requires static org.jspecify;
    requires HdrHistogram;
    requires com.google.gson;
    requires org.assertj.core;

    exports io.github.distributedsemaphore.tck;
    exports io.github.distributedsemaphore.tck.agent;
    exports io.github.distributedsemaphore.tck.cluster;
    exports io.github.distributedsemaphore.tck.faults;
    exports io.github.distributedsemaphore.tck.fixture;
    exports io.github.distributedsemaphore.tck.harness;
    exports io.github.distributedsemaphore.tck.history;
    exports io.github.distributedsemaphore.tck.link;
    exports io.github.distributedsemaphore.tck.rulebook;
    exports io.github.distributedsemaphore.tck.rules;
    exports io.github.distributedsemaphore.tck.session;
    exports io.github.distributedsemaphore.tck.storms;

    provides org.junit.platform.launcher.TestExecutionListener with
            io.github.distributedsemaphore.tck.jvms.PlannedTests;

    // JUnit calls the contracts reflectively. A plain module with "opens": Error Prone misreads the Javadoc of an open
    // one.
    opens io.github.distributedsemaphore.tck;
    opens io.github.distributedsemaphore.tck.cluster;
    opens io.github.distributedsemaphore.tck.faults;
    opens io.github.distributedsemaphore.tck.fixture;
    opens io.github.distributedsemaphore.tck.rules;
    opens io.github.distributedsemaphore.tck.session;
    opens io.github.distributedsemaphore.tck.storms;

    // What goes between JVMs goes as JSON.
    opens io.github.distributedsemaphore.tck.jvms to
            com.google.gson;
    opens io.github.distributedsemaphore.tck.report to
            com.google.gson;
}
