package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** The same as {@code top} in a browser. */
@Command(
        name = "ui",
        description = {
            "Serves a page that shows semaphores as they change, and their last ten minutes, until it is stopped with Ctrl-C.",
            "The page cannot change anything. It is served on this machine's loopback address only. It asks for no password:"
                    + " every user of this machine can open it, and see the names of semaphores, hosts and labels."
        })
public final class UiCommand implements Callable<Integer> {
    private static final int LARGEST_PORT = 65_535;

    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(arity = "0..*", paramLabel = "NAME", description = "the semaphores; default: all of them")
    private List<String> names = List.of();

    @Option(names = "--port", paramLabel = "N", description = "the port; default: a free one, which is printed")
    private int port;

    @Option(names = "--every", paramLabel = "D", description = Readings.EVERY_HELP)
    private Duration every = Readings.SHORTEST;

    /** For picocli. */
    public UiCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Readings.checkEvery(every);
        if (port < 0 || port > LARGEST_PORT) {
            throw new IllegalArgumentException(
                    "--port is '" + port + "', it must be from 1 to " + LARGEST_PORT + ", or 0 for a free one");
        }
        try (Readings readings = new Readings(semaphore.connect(), semaphore.backend(), names, every);
                UiServer server = UiServer.start(readings, port)) {
            readings.start(read -> {});
            PrintWriter out = spec.commandLine().getOut();
            out.println(server.address() + " shows the semaphores of "
                    + readings.latest().source().address() + "; Ctrl-C ends it");
            out.flush();
            // Until the process ends.
            new CountDownLatch(1).await();
        }
        return 0;
    }
}
