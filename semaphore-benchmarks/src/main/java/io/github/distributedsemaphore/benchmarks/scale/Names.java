package io.github.distributedsemaphore.benchmarks.scale;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Many semaphores with one holder each: what a name costs, and when all are free after their holders have died at once. */
public final class Names implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(8);
    private static final int AT_ONCE = 64;
    /** Of so many names it is seen when they are free: for each one more connection is needed. */
    private static final int SAMPLE = 100;

    private final ScaleFigures figures;
    private final List<SemaphoreClient> clients = new ArrayList<>();
    private final SemaphoreClient observer;
    private final Queue<Permit> held = new ConcurrentLinkedQueue<>();

    /**
     * Connects clients.
     *
     * @param figures takes the figures
     * @param uris of the server, one for each client: a client has a connection for each name, and there are some 28,000 ports for
     *     each address of a server
     */
    public Names(ScaleFigures figures, List<String> uris) {
        this.figures = figures;
        uris.forEach(uri -> clients.add(SemaphoreClient.connect(uri)));
        this.observer = SemaphoreClient.connect(uris.get(0));
    }

    /**
     * Measures.
     *
     * @param number how many names
     * @throws InterruptedException if the calling thread is interrupted
     */
    public void measure(int number) throws InterruptedException {
        long memory = ScaleFigures.memory();
        long start = System.nanoTime();
        clients.parallelStream().forEach(client -> create(client, number));
        figures.add("all names are created after, seconds", (System.nanoTime() - start) / 1e9);
        figures.add("memory of the server for each name, KB", (ScaleFigures.memory() - memory) / 1e3 / number);
        start = System.nanoTime();
        takeAll(number);
        figures.add("all permits are held after, seconds", (System.nanoTime() - start) / 1e9);
        figures.add("the same with its holder, KB", (ScaleFigures.memory() - memory) / 1e3 / number);
        figures.progress("all are held");
        ServerUse use = figures.use(() -> {});
        figures.add(
                "while all hold: requests a second for each name",
                (double) use.commands() / figures.seconds() / number);
        figures.add("while all hold: processors of the server", use.cpuMicros() / 1e6 / figures.seconds());
        figures.add("permits that were lost", (double)
                held.stream().filter(permit -> !permit.isValid()).count());
        figures.progress("all die");
        start = System.nanoTime();
        clients.parallelStream().forEach(SemaphoreClient::abort);
        for (int i = 0; i < SAMPLE; i++) {
            observer.semaphore(name((int) ((long) i * number / SAMPLE)))
                    .acquire(1, PATIENCE)
                    .close();
        }
        figures.add("all of a hundred names are free after, seconds", (System.nanoTime() - start) / 1e9);
    }

    private static String name(int i) {
        return "name-" + i;
    }

    private void create(SemaphoreClient client, int number) {
        int mine = clients.indexOf(client);
        for (int i = mine; i < number; i += clients.size()) {
            client.admin().create(name(i), 1);
            if (mine == 0) {
                figures.progress(i + " of " + number + " names are there");
            }
        }
    }

    private void takeAll(int number) throws InterruptedException {
        Semaphore window = new Semaphore(AT_ONCE);
        CountDownLatch left = new CountDownLatch(number);
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        for (int i = 0; i < number && failures.isEmpty(); i++) {
            window.acquire();
            figures.progress(i + " of " + number + " names have a holder");
            CompletableFuture<?> unused = clients.get(i % clients.size())
                    .semaphore(name(i))
                    .acquireAsync()
                    .whenComplete((permit, failure) -> {
                        if (failure == null) {
                            held.add(permit);
                        } else {
                            failures.add(failure);
                        }
                        window.release();
                        left.countDown();
                    });
        }
        if (!failures.isEmpty() || !left.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new BrokenRunException(held.size() + " of " + number + " names had a holder: " + failures.peek());
        }
    }

    @Override
    public void close() {
        observer.close();
        clients.parallelStream().forEach(SemaphoreClient::abort);
    }
}
