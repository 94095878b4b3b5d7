package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import io.github.distributedsemaphore.benchmarks.scale.Crowd;
import io.github.distributedsemaphore.benchmarks.scale.Names;
import io.github.distributedsemaphore.benchmarks.scale.ScaleFigures;
import io.github.distributedsemaphore.benchmarks.servers.ConsulServers;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.PostgresProcess;
import io.github.distributedsemaphore.benchmarks.servers.RabbitProcess;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import io.github.distributedsemaphore.benchmarks.servers.TemporaryFolder;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Measures what many clients at one semaphore cost the server, or many semaphores with a holder each. */
@Command(
        name = "scale",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Connects many clients to a server that it starts and ends itself, each with connections of its own, and has them wait"
                    + " at one semaphore. Measures what waiting costs, how fast permits go round, and how long it takes until"
                    + " the permits of clients that died at once are free. With --names it has a few clients hold the only permit"
                    + " of many semaphores instead."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:measured", "1:the run was broken and has no figures", "2:called wrongly"})
final class ScaleCommand implements Runnable {
    private static final String REDIS = "redis";
    private static final int MOST_CLIENTS = 10_000;
    private static final int MOST_NAMES = 100_000;
    private static final int NAMES_OF_A_CLIENT = 20_000;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(paramLabel = "BACKEND", description = "redis, rabbitmq, consul or postgresql")
    private String backend = "";

    @Option(names = "--clients", defaultValue = "500", description = "how many clients wait; default: ${DEFAULT-VALUE}")
    private int clients;

    @Option(names = "--permits", defaultValue = "100", description = "the limit; default: ${DEFAULT-VALUE}")
    private int permits;

    @Option(
            names = "--names",
            defaultValue = "0",
            description = "how many semaphores have a holder, in place of --clients")
    private int names;

    @Option(
            names = "--share",
            defaultValue = "1",
            description =
                    "how many clients share all connections but that of their exchanges, so that one process can carry more;"
                            + " Redis only; default: ${DEFAULT-VALUE}")
    private int share;

    @Option(names = "--restart", description = "restart the server while permits go round")
    private boolean restart;

    @Option(
            names = "--seconds",
            defaultValue = "15",
            description = "how long each measurement takes; default: ${DEFAULT-VALUE}")
    private int seconds;

    @Option(names = "--settings", description = "settings of the clients, as in a URI: recheck=10s&detection=30s")
    private String settings = "";

    @Option(names = "--live", hidden = true, description = "overwrite the line of progress")
    private boolean live;

    @Override
    public void run() {
        within("--clients", clients, 1, MOST_CLIENTS);
        within("--permits", permits, 1, clients);
        within("--seconds", seconds, 1, 600);
        within("--names", names, 0, backend.equals(REDIS) ? MOST_NAMES : NAMES_OF_A_CLIENT);
        within("--share", share, 1, backend.equals(REDIS) ? clients : 1);
        // A client's death is what is measured here; permits that are lost before it are a figure.
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        System.setProperty("org.slf4j.simpleLogger.log.io.github.distributedsemaphore", "error");
        try (TemporaryFolder folder = TemporaryFolder.create("scale");
                MeasuredServer server = start(folder.path())) {
            measure(server);
        } catch (InterruptedException e) {
            throw new BrokenRunException("interrupted", e);
        }
    }

    private void within(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw wrong(option + " is " + value + "; it must be from " + least + " to " + most);
        }
    }

    private CommandLine.ParameterException wrong(String message) {
        return new CommandLine.ParameterException(spec.commandLine(), message);
    }

    private MeasuredServer start(Path folder) {
        return switch (backend) {
            case REDIS -> new RedisProcess(folder, restart, names + 3 * clients + 1_000);
            case "rabbitmq" -> new RabbitProcess(folder);
            case "consul" -> new ConsulServers(folder, 1, restart);
            case "postgresql" -> new PostgresProcess(folder, 3 * clients + 10, PostgresProcess.Counted.COMMITS);
            default -> throw wrong("'" + backend + "' is no backend; there are: redis, rabbitmq, consul, postgresql");
        };
    }

    private void measure(MeasuredServer server) throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Progress progress = new Progress(spec.commandLine().getErr(), live);
        ScaleFigures figures = new ScaleFigures(server, progress, seconds);
        String uri = server.uri() + (settings.isEmpty() ? "" : (server.uri().contains("?") ? "&" : "?") + settings);
        String what;
        try {
            if (names > 0) {
                what = names + " names";
                try (Names holders = new Names(figures, addresses(uri))) {
                    holders.measure(names);
                }
            } else {
                what = clients + " clients, " + permits + " permits" + (share == 1 ? "" : ", " + share + " share");
                try (Crowd crowd = new Crowd(figures, uri, permits, share)) {
                    crowd.measure(clients, restart ? server : null);
                }
            }
        } finally {
            progress.clear();
        }
        out.println(server.version() + ", " + what + (settings.isEmpty() ? "" : ", " + settings));
        out.print(figures);
        out.flush();
    }

    /** The whole network 127.0.0.0/8 is this machine. */
    private List<String> addresses(String uri) {
        return IntStream.rangeClosed(1, (names - 1) / NAMES_OF_A_CLIENT + 1)
                .mapToObj(i -> uri.replace("127.0.0.1", "127.0.0." + i))
                .toList();
    }
}
