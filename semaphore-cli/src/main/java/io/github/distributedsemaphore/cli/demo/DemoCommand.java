package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.Signals;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** What {@code ./quickstart} runs. */
@Command(
        name = "demo",
        hidden = true,
        description = "Lets six processes share three slots, kills one of them, and checks what was promised. Without"
                + " --backend on local: in a temporary folder. Ends with 1 if a promise was broken.")
public final class DemoCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(names = "--for", paramLabel = "D", description = "how long the workers work; default: 12s")
    private Duration length = Duration.ofSeconds(12);

    @Option(names = "--live", description = "draw in place, for a terminal that knows ANSI sequences")
    private boolean live;

    /** For picocli. */
    public DemoCommand() {}

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        Thread demo = Thread.currentThread();
        AtomicInteger signalled = new AtomicInteger();
        // The first one ends the demonstration, which then cleans up; later ones do not disturb it at that.
        Signals.handle("HUP", () -> interruptOnce(demo, signalled, 1));
        Signals.handle("INT", () -> interruptOnce(demo, signalled, 2));
        Signals.handle("TERM", () -> interruptOnce(demo, signalled, 15));
        try (Workplace place = backendIsGiven() ? Workplace.at(semaphore.backend()) : Workplace.temporary()) {
            Screen screen = live ? new LiveScreen(out, length) : new PlainScreen(out);
            return new Demo(place.backend(), screen, length).run(out) ? 0 : 1;
        } catch (InterruptedException e) {
            out.println("stopped; nothing was left behind");
            return 128 + signalled.get();
        }
    }

    private static void interruptOnce(Thread demo, AtomicInteger signalled, int number) {
        if (signalled.compareAndSet(0, number)) {
            demo.interrupt();
        }
    }

    private boolean backendIsGiven() {
        CommandLine.ParseResult words = spec.root().commandLine().getParseResult();
        return System.getenv("SEMAPHORE_BACKEND") != null
                || words.hasMatchedOption("--backend")
                || words.subcommand().hasMatchedOption("--backend");
    }
}
