package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import io.github.distributedsemaphore.benchmarks.servers.ConsulServers;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.PostgresProcess;
import io.github.distributedsemaphore.benchmarks.servers.RabbitProcess;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Measures what many clients at one semaphore cost the server: while they wait, while they take turns, and when they all die. */
@Command(
        name = "scale",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Connects many clients to a server that it starts and ends itself, each with connections of its own, and has them wait"
                    + " at one semaphore. Measures what waiting costs, how fast permits go round, and how long it takes until"
                    + " the permits of clients that died at once are free."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:measured", "1:the run was broken and has no figures", "2:called wrongly"})
final class ScaleCommand implements Runnable {
    private static final String NAME = "scale";
    private static final int MOST_CLIENTS = 10_000;
    private static final Duration HOLD = Duration.ofMillis(10);
    private static final Duration SETTLE = Duration.ofSeconds(8);
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(paramLabel = "BACKEND", description = "redis, rabbitmq, consul or postgresql")
    private String backend = "";

    @Option(names = "--clients", defaultValue = "500", description = "how many clients wait; default: ${DEFAULT-VALUE}")
    private int clients;

    @Option(names = "--permits", defaultValue = "100", description = "the limit; default: ${DEFAULT-VALUE}")
    private int permits;

    @Option(
            names = "--seconds",
            defaultValue = "15",
            description = "how long each measurement takes; default: ${DEFAULT-VALUE}")
    private int seconds;

    @Option(names = "--settings", description = "settings of the clients, as in a URI: recheck=10s&detection=30s")
    private String settings = "";

    @Option(names = "--live", hidden = true, description = "overwrite the line of progress")
    private boolean live;

    private final LongAdder grants = new LongAdder();
    private final AtomicLong longestWait = new AtomicLong();
    private final LongAdder failures = new LongAdder();
    private volatile boolean goingOn = true;

    @Override
    public void run() {
        atMost("--clients", clients, MOST_CLIENTS);
        atMost("--permits", permits, clients);
        atMost("--seconds", seconds, 600);
        // Pools of buffers for each of the event loops of thousands of clients would fill the memory of this process.
        System.setProperty("io.netty.allocator.type", "unpooled");
        try {
            Path folder = Files.createTempDirectory("scale");
            try (MeasuredServer server = start(folder)) {
                measure(server);
            } finally {
                delete(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new BrokenRunException("interrupted", e);
        }
    }

    private void atMost(String option, int value, int most) {
        if (value < 1 || value > most) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), option + " is " + value + "; it must be from 1 to " + most);
        }
    }

    private MeasuredServer start(Path folder) {
        return switch (backend) {
            case "redis" -> new RedisProcess(folder);
            case "rabbitmq" -> new RabbitProcess(folder);
            case "consul" -> new ConsulServers(folder, 1);
            case "postgresql" -> new PostgresProcess(folder, 3 * clients + 10);
            default ->
                throw new CommandLine.ParameterException(
                        spec.commandLine(),
                        "'" + backend + "' is no backend; there are: redis, rabbitmq, consul, postgresql");
        };
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted((a, b) -> b.compareTo(a)).forEach(file -> file.toFile().delete());
        }
    }

    private void measure(MeasuredServer server) throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Progress progress = new Progress(spec.commandLine().getErr(), live);
        String uri = server.uri() + (settings.isEmpty() ? "" : (server.uri().contains("?") ? "&" : "?") + settings);
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        List<SemaphoreClient> all = new ArrayList<>();
        try (SemaphoreClient first = SemaphoreClient.connect(uri)) {
            first.admin().create(NAME, permits);
            PermitGroup held = first.semaphore(NAME).acquire(permits);
            long memory = memory();
            for (int i = 1; i <= clients; i++) {
                progress.show(NAME, i + " of " + clients + " clients wait");
                SemaphoreClient client = SemaphoreClient.connect(uri);
                all.add(client);
                takeTurns(client.semaphore(NAME), timer);
                awaitWaiting(client);
            }
            progress.show(NAME, "nobody gets anything");
            TimeUnit.MILLISECONDS.sleep(SETTLE.toMillis());
            long each = (memory() - memory) / clients;
            ServerUse before = server.use();
            TimeUnit.SECONDS.sleep(seconds);
            ServerUse idle = server.use().since(before);

            progress.show(NAME, "permits go round");
            held.close();
            TimeUnit.MILLISECONDS.sleep(SETTLE.toMillis());
            grants.reset();
            longestWait.set(0);
            before = server.use();
            TimeUnit.SECONDS.sleep(seconds);
            ServerUse busy = server.use().since(before);
            long granted = grants.sum();
            goingOn = false;
            long longest = longestWait.get();

            progress.show(NAME, "all die");
            Duration freed = timeToBury(first.semaphore(NAME), permits, all);
            progress.clear();
            out.printf(
                    Locale.ROOT,
                    "%s, %d clients, %d permits%s%n",
                    server.version(),
                    clients,
                    permits,
                    settings.isEmpty() ? "" : ", " + settings);
            line(
                    out,
                    "while all wait: requests a second for each client",
                    (double) idle.commands() / seconds / clients);
            line(out, "while all wait: processors of the server", idle.cpuMicros() / 1e6 / seconds);
            line(out, "memory of the server for each client, KB", each / 1e3);
            line(out, "grants a second, held for 10 ms", (double) granted / seconds);
            line(out, "requests for each grant", granted == 0 ? Double.NaN : (double) busy.commands() / granted);
            line(out, "processors of the server", busy.cpuMicros() / 1e6 / seconds);
            line(out, "longest wait, seconds", longest / 1e9);
            line(out, "acquires that failed", (double) failures.sum());
            line(out, "all permits of the dead are free after, seconds", freed.toMillis() / 1e3);
            out.flush();
        } finally {
            goingOn = false;
            timer.shutdownNow();
            progress.clear();
        }
    }

    private static void line(PrintWriter out, String what, double value) {
        out.printf(Locale.ROOT, "  %-52s %,14.3f%n", what, value);
    }

    /** One after the other, so that this process is not busy with them all at once when they begin. */
    private static void awaitWaiting(SemaphoreClient client) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (client.semaphore(NAME).statistics().exchanges() < 2) {
            if (System.nanoTime() - end > 0) {
                throw new BrokenRunException("a client did not come to wait within " + PATIENCE);
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    private void takeTurns(DistributedSemaphore semaphore, ScheduledExecutorService timer) {
        long start = System.nanoTime();
        CompletableFuture<?> unusedTurn = semaphore.acquireAsync().whenComplete((permit, failure) -> {
            if (failure != null) {
                if (goingOn) {
                    failures.increment();
                    takeTurns(semaphore, timer);
                }
                return;
            }
            longestWait.accumulateAndGet(System.nanoTime() - start, Math::max);
            grants.increment();
            if (goingOn) {
                Future<?> unused =
                        timer.schedule(() -> release(permit, semaphore, timer), HOLD.toMillis(), TimeUnit.MILLISECONDS);
            }
        });
    }

    private void release(Permit permit, DistributedSemaphore semaphore, ScheduledExecutorService timer) {
        CompletableFuture<?> unused =
                permit.releaseAsync().whenComplete((outcome, failure) -> takeTurns(semaphore, timer));
    }

    /** Those who were granted something last hold it, and die with all who wait. */
    private static Duration timeToBury(DistributedSemaphore observer, int permits, List<SemaphoreClient> all)
            throws InterruptedException {
        TimeUnit.SECONDS.sleep(1);
        long start = System.nanoTime();
        all.parallelStream().forEach(SemaphoreClient::abort);
        observer.acquire(permits, PATIENCE).close();
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /** Resident memory of the processes that this one started, in bytes. */
    private static long memory() {
        return ProcessHandle.current()
                .descendants()
                .mapToLong(ScaleCommand::memory)
                .sum();
    }

    private static long memory(ProcessHandle process) {
        try {
            return Files.readAllLines(Path.of("/proc/" + process.pid() + "/status")).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
        } catch (IOException e) {
            return 0; // It has just ended, or this is not Linux.
        }
    }
}
