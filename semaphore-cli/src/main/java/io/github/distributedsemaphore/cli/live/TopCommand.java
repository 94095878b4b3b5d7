package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.Terminal;
import io.github.distributedsemaphore.cli.common.TextTable;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** Semaphores as they change: a picture in a terminal, else a line for each change. */
@Command(
        name = "top",
        description = {
            "Shows semaphores as they change. In a terminal: a row for each with its use, its oldest hold and the last 60"
                    + " readings, and keys that '?' explains. Elsewhere: a line for each change.",
            "Asking takes at most a tenth of the time: where the backend is slow, it is asked less often. Clients that wait"
                    + " are in no backend and are not shown."
        })
public final class TopCommand implements Callable<Integer> {
    private static final String SOMETHING_NEW = "";

    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(arity = "0..*", paramLabel = "NAME", description = "the semaphores; default: all of them")
    private List<String> names = List.of();

    @Option(names = "--every", paramLabel = "D", description = Readings.EVERY_HELP)
    private Duration every = Readings.SHORTEST;

    @Option(names = "--holders", description = "show the holders from the start")
    private boolean holders;

    @Option(names = "--once", description = "print a table of what is the case now, and end")
    private boolean once;

    @Option(
            names = "--json",
            description = "with --once: print {\"backend\",\"address\",\"detectionMillis\",\"at\",\"tookMillis\","
                    + "\"semaphores\":[...]}, where a semaphore has the members that it has in 'status --json', and"
                    + " \"held\",\"retired\",\"expired\",\"oldest\"; if it cannot be shown, \"name\" and \"problem\"")
    private boolean json;

    /** For picocli. */
    public TopCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        Readings.checkEvery(every);
        if (json && !once) {
            throw new IllegalArgumentException("--json is for --once; write 'semaphore top --once --json'");
        }
        try (Readings readings = new Readings(semaphore.connect(), semaphore.backend(), names, every)) {
            if (once) {
                printOnce(readings.readOrFail());
            } else {
                watch(readings);
            }
        }
        return 0;
    }

    private void printOnce(Snapshot snapshot) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(
                json ? LiveJson.now(snapshot) : snapshot.rows().isEmpty() ? SemaphoreCommand.NONE : table(snapshot));
        out.flush();
        snapshot.rows().stream().filter(row -> row.now() == null).findFirst().ifPresent(row -> {
            String problem = row.name() + ": " + row.problem();
            throw row.problem().equals(Readings.MISSING)
                    ? new NoSuchSemaphoreException(problem)
                    : new IncompatibleStateException(problem, null);
        });
    }

    private static TextTable table(Snapshot snapshot) {
        TextTable table = new TextTable("NAME", "LIMIT", "HELD", "FREE", "RETIRED", "EXPIRED", "OLDEST");
        for (Row row : snapshot.rows()) {
            if (row.now() == null) {
                table.add(row.name(), "-", "-", "-", "-", "-", "-");
                continue;
            }
            table.add(
                    row.name(),
                    String.valueOf(row.limit()),
                    String.valueOf(row.held()),
                    String.valueOf(row.free()),
                    String.valueOf(row.count(HolderState.RETIRED)),
                    String.valueOf(row.count(HolderState.EXPIRED)),
                    row.oldest()
                            .map(since -> since.truncatedTo(ChronoUnit.SECONDS).toString())
                            .orElse("-"));
        }
        return table;
    }

    private void watch(Readings readings) throws IOException, InterruptedException {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        Optional<RawTerminal> terminal = RawTerminal.open(() -> events.add(SOMETHING_NEW));
        if (terminal.isPresent()) {
            try (RawTerminal screen = terminal.get()) {
                draw(readings, screen, events);
            }
        } else {
            printChanges(readings, spec.commandLine().getOut());
        }
    }

    private void draw(Readings readings, RawTerminal screen, BlockingQueue<String> events)
            throws IOException, InterruptedException {
        View view = holders ? new View().withAllHolders() : new View();
        listen(screen.keys(), events);
        readings.start(read -> events.add(SOMETHING_NEW));
        Snapshot shown = readings.latest();
        while (!view.isOver()) {
            shown = view.isPaused() ? shown : readings.latest();
            screen.draw(screen.picture().lines(shown, view));
            String event = events.poll(1, TimeUnit.SECONDS);
            if (event != null && !event.equals(SOMETHING_NEW)) {
                view.press(event, shown);
            }
        }
    }

    private static void listen(Keys keys, BlockingQueue<String> events) {
        Thread listener = new Thread(
                () -> {
                    String key = SOMETHING_NEW;
                    while (!key.equals(Keys.END_OF_INPUT)) {
                        key = next(keys);
                        events.add(key);
                    }
                },
                "semaphore-keys");
        listener.setDaemon(true);
        listener.start();
    }

    private static String next(Keys keys) {
        try {
            return keys.next();
        } catch (IOException e) {
            // The terminal was closed.
            return Keys.END_OF_INPUT;
        }
    }

    static void printChanges(Readings readings, PrintWriter out) throws InterruptedException {
        // While the output is stuck nothing more is read: it would pile up.
        BlockingQueue<Snapshot> news = new ArrayBlockingQueue<>(1);
        readings.start(read -> handOver(read, news));
        ChangeLines lines = new ChangeLines();
        do {
            lines.of(news.take()).forEach(out::println);
            out.flush();
            // Such as head, when it has seen enough. The writer of picocli does not ask the stream below it.
        } while (!System.out.checkError());
    }

    private static void handOver(Snapshot read, BlockingQueue<Snapshot> news) {
        try {
            news.put(read);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Snapshots as lines: how it is at first, and then what changes. For one thread. */
    static final class ChangeLines {
        private boolean hasBegun;

        List<String> of(Snapshot snapshot) {
            List<String> lines = new ArrayList<>();
            if (!hasBegun && snapshot.trouble().isEmpty()) {
                hasBegun = true;
                snapshot.rows().forEach(row -> lines.add(line(snapshot, row, row.problem())));
            }
            snapshot.changes().stream()
                    .filter(change -> change.reading() == snapshot.reading())
                    .forEach(change -> lines.add(line(snapshot, change)));
            return lines;
        }

        private static String line(Snapshot snapshot, Change change) {
            return snapshot.rows().stream()
                    .filter(row -> row.name().equals(change.semaphore()))
                    .findFirst()
                    .map(row -> line(snapshot, row, change.text()))
                    .orElse(line(snapshot, change.semaphore(), change.text()));
        }

        private static String line(Snapshot snapshot, Row row, String text) {
            return line(snapshot, row.name() + (row.now() == null ? "" : "  " + row.held() + "/" + row.limit()), text);
        }

        private static String line(Snapshot snapshot, String about, String text) {
            String all = snapshot.at().truncatedTo(ChronoUnit.SECONDS)
                    + (about.isEmpty() ? "" : "  " + about)
                    + (text.isEmpty() ? "" : "  " + text);
            return Terminal.clean(all);
        }
    }
}
