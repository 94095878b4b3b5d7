package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.support.Durations;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** One demonstration, from making its semaphore to removing it. For one thread. */
final class Demo {
    static final int SLOTS = 3;
    static final int WORKERS = 6;

    private static final Duration START_BOUND = Duration.ofSeconds(60);
    private static final Duration FRAME = Duration.ofMillis(100);
    private static final Duration KEPT_BEFORE_KILL = Duration.ofMillis(500);
    private static final long SECONDS_TO_END = 5;

    private final String backend;
    private final Screen screen;
    private final long length;
    private final String name = "quickstart-" + UUID.randomUUID().toString().substring(0, 8);
    private final Ledger ledger = new Ledger();
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final List<String> news = new ArrayList<>();
    private long start;

    Demo(String backend, Screen screen, Duration length) {
        this.backend = backend;
        this.screen = screen;
        this.length = length.toNanos();
    }

    /**
     * Runs it and prints what it showed.
     *
     * @return false if a promise was broken
     * @throws InterruptedException if it was stopped; everything is removed then as well
     */
    boolean run(PrintWriter out) throws IOException, InterruptedException {
        Guarantees promised;
        try (SemaphoreClient client = SemaphoreClient.connect(backend)) {
            promised = client.guarantees();
            client.admin().create(name, SLOTS);
            try {
                out.println(WORKERS + " worker processes share the " + SLOTS + " slots of " + name + " on "
                        + promised.backend() + ":");
                out.flush();
                startWorkers();
                work(promised);
            } finally {
                screen.close();
                cleanUp(client);
            }
        }
        Findings findings = Findings.of(ledger, promised, SLOTS, WORKERS);
        out.println(Summary.of(findings, promised));
        return findings.broken().isEmpty();
    }

    private void startWorkers() throws IOException, InterruptedException {
        for (int number = 1; number <= WORKERS; number++) {
            workers.add(WorkerProcess.start(number, backend, name, ledger::record));
        }
        long end = System.nanoTime() + START_BOUND.toNanos();
        while (ledger.readyWorkers() < WORKERS) {
            refuseBrokenStart(end);
            Thread.sleep(10);
        }
        start = System.nanoTime();
        workers.forEach(worker -> worker.order(WorkerCommand.GO));
    }

    private void refuseBrokenStart(long end) {
        if (!ledger.failures().isEmpty()) {
            throw new IllegalStateException(String.join("; ", ledger.failures()));
        }
        if (!workers.stream().allMatch(WorkerProcess::isAlive) || System.nanoTime() > end) {
            throw new IllegalStateException("only " + ledger.readyWorkers() + " of " + WORKERS + " workers could start"
                    + " within " + Durations.format(START_BOUND) + "; what they say is above");
        }
    }

    private void work(Guarantees promised) throws InterruptedException {
        showWhile(() -> elapsed() < length / 2 - KEPT_BEFORE_KILL.toNanos());
        WorkerProcess victim = workers.get(0);
        victim.order(WorkerCommand.KEEP);
        // It keeps the first permit that it is granted after the order; the one it has, it gives back.
        showWhile(() -> !hasKept(victim) && elapsed() < length);
        kill(victim);
        long bound = Findings.takeoverBound(promised).plusSeconds(1).toNanos();
        long killedAt = System.nanoTime();
        showWhile(() -> ledger.takeover().isEmpty() && System.nanoTime() - killedAt < bound);
        ledger.takeover().ifPresent(this::tellTakeover);
        showWhile(() -> elapsed() < length);
    }

    private boolean hasKept(WorkerProcess victim) {
        long now = System.nanoTime();
        return ledger.heldBy(victim.number())
                .filter(turn ->
                        now - turn.from() > WorkerCommand.MAX_HOLD_MILLIS * 1_000_000L + KEPT_BEFORE_KILL.toNanos())
                .isPresent();
    }

    private void kill(WorkerProcess victim) throws InterruptedException {
        long at = System.nanoTime();
        victim.kill();
        ledger.killed(victim.number(), at);
        String held =
                ledger.killed().map(turn -> ", which held slot " + turn.slot()).orElse("");
        news.add("killed worker " + victim.number() + " (process " + victim.pid() + ") with -9" + held);
    }

    private void tellTakeover(Turn next) {
        ledger.killed()
                .ifPresent(dead -> news.add("worker " + next.worker() + " has slot " + next.slot() + " "
                        + Findings.millis(next.from() - dead.until()) + " later"));
    }

    private void showWhile(BooleanSupplier condition) throws InterruptedException {
        while (condition.getAsBoolean()) {
            screen.show(picture());
            Thread.sleep(FRAME.toMillis());
        }
        screen.show(picture());
    }

    private Screen.Picture picture() {
        Map<Integer, Turn> holders = ledger.turns().stream()
                .filter(Turn::isOpen)
                .collect(Collectors.toMap(Turn::slot, turn -> turn, (first, second) -> second, HashMap::new));
        if (ledger.takeover().isEmpty()) {
            // Nobody works in it, and yet it is not free: the backend does not know of the death so far.
            ledger.killed().ifPresent(dead -> holders.put(dead.slot(), dead));
        }
        return new Screen.Picture(elapsed() / 1e9, holders, ledger.waiting(), List.copyOf(news));
    }

    private long elapsed() {
        return System.nanoTime() - start;
    }

    /** Works to the end also when the thread was interrupted, or is while it works. */
    private void cleanUp(SemaphoreClient client) {
        boolean interrupted = Thread.interrupted();
        workers.forEach(WorkerProcess::askToEnd);
        for (WorkerProcess worker : workers) {
            try {
                worker.awaitEnd(SECONDS_TO_END);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        client.admin().destroy(name);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
