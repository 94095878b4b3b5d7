package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.Signals;
import io.github.distributedsemaphore.guarantees.Capability;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/**
 * A worker of the demonstration, in a process of its own: takes a permit, holds it for a moment, gives it back, and again.
 * It obeys its standard input, and ends when that ends: a worker cannot outlive the demonstration.
 */
@Command(name = "demo-worker", hidden = true, description = "A worker of the demonstration.")
public final class WorkerCommand implements Callable<Integer> {
    /** Start to take permits. */
    static final String GO = "go";
    /** Keep the next permit until killed. */
    static final String KEEP = "keep";

    /** The longest pause between two permits, in milliseconds. Without one a worker would overtake waiting workers. */
    static final int MAX_PAUSE_MILLIS = 60;

    private static final int MIN_HOLD_MILLIS = 200;
    static final int MAX_HOLD_MILLIS = 500;

    @ParentCommand
    private SemaphoreCommand semaphore;

    @Parameters(index = "0", paramLabel = "NAME")
    private String name;

    private final CountDownLatch go = new CountDownLatch(1);
    private volatile boolean keep;
    private boolean fencing;

    /** For picocli. */
    public WorkerCommand() {}

    /**
     * Runs a worker. It is no command of the user's.
     *
     * @param args {@code demo-worker} and the name of the semaphore
     */
    public static void main(String[] args) {
        System.exit(SemaphoreCommand.commandLine(Map.of(args[0], new WorkerCommand()))
                .execute(args));
    }

    @Override
    public Integer call() {
        // A Ctrl-C or the end of the terminal goes to the whole group; when to end is for the demonstration to say.
        Signals.handle("INT", () -> {});
        Signals.handle("HUP", () -> {});
        obeyInput(Thread.currentThread());
        try (SemaphoreClient client = semaphore.connect()) {
            fencing = client.guarantees().has(Capability.FENCING);
            tell(WorkerEvent.of(WorkerEvent.Kind.READY, System.nanoTime()));
            go.await();
            takeTurns(client.semaphore(name));
            return 0;
        } catch (InterruptedException e) {
            return 0;
        } catch (RuntimeException e) {
            tell(WorkerEvent.failed(System.nanoTime(), e.toString()));
            return 1;
        }
    }

    private void obeyInput(Thread worker) {
        Thread reader = new Thread(() -> {
            try (BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                    keep = order.equals(KEEP);
                    go.countDown();
                }
            } catch (IOException e) {
                tell(WorkerEvent.failed(System.nanoTime(), e.toString()));
            }
            worker.interrupt();
        });
        reader.setDaemon(true);
        reader.start();
    }

    private void takeTurns(DistributedSemaphore slots) throws InterruptedException {
        while (true) {
            long asked = System.nanoTime();
            tell(WorkerEvent.of(WorkerEvent.Kind.WAITING, asked));
            try (Permit permit = slots.acquire()) {
                long granted = System.nanoTime();
                tell(event(WorkerEvent.Kind.GRANTED, granted, permit, granted - asked));
                try {
                    hold();
                } finally {
                    tell(event(WorkerEvent.Kind.RELEASING, System.nanoTime(), permit, 0));
                }
            }
            Thread.sleep(ThreadLocalRandom.current().nextInt(MAX_PAUSE_MILLIS));
        }
    }

    private void hold() throws InterruptedException {
        if (keep) {
            TimeUnit.DAYS.sleep(1);
        }
        Thread.sleep(ThreadLocalRandom.current().nextInt(MIN_HOLD_MILLIS, MAX_HOLD_MILLIS));
    }

    private WorkerEvent event(WorkerEvent.Kind kind, long at, Permit permit, long waited) {
        return new WorkerEvent(kind, at, permit.slot(), fencing ? permit.fence().epoch() : -1, waited, "");
    }

    private static synchronized void tell(WorkerEvent event) {
        System.out.println(event.toJson());
        System.out.flush();
    }
}
