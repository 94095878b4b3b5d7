/** The semaphore command. */
@SuppressWarnings("requires-automatic") // HdrHistogram has no module name; nobody compiles against this module.
module io.github.distributedsemaphore.cli {
    requires com.google.gson;
    requires HdrHistogram;
    requires info.picocli;
    requires io.github.distributedsemaphore.api;
    requires io.github.distributedsemaphore.tck;
    requires jdk.httpserver;
    requires jdk.unsupported;
    requires static org.jspecify;

    opens io.github.distributedsemaphore.cli.admin to
            info.picocli;
    opens io.github.distributedsemaphore.cli.common to
            info.picocli;
    opens io.github.distributedsemaphore.cli.demo to
            info.picocli;
    opens io.github.distributedsemaphore.cli.live to
            info.picocli;
    opens io.github.distributedsemaphore.cli.run to
            info.picocli;
    opens io.github.distributedsemaphore.cli.tck to
            info.picocli;
}
