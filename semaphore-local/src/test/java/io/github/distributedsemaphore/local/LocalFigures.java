package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.IntConsumer;
import java.util.stream.Stream;

/** Measures what {@code docs/internals/local.md} states; that page has the command. */
public final class LocalFigures {
    private LocalFigures() {}

    /**
     * Prints the figures.
     *
     * @param arguments the rounds of each wake-up; by default 200
     */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length == 0 ? 200 : Integer.parseInt(arguments[0]);
        Path directory = Files.createTempDirectory("local-figures");
        try (SemaphoreBackend backend = Local.open(directory)) {
            exchanges(backend);
            manySlots(backend, directory);
            wakeUps(backend, directory, rounds);
        } finally {
            deleteAll(directory);
        }
    }

    private static void exchanges(SemaphoreBackend backend) {
        backend.admin().create("one", 1);
        try (BackendSession session = Local.session(backend, "one")) {
            for (int i = 0; i < 2; i++) {
                print("take and give back, nobody else", 20_000, round -> {
                    Local.giveBack(session, Local.takeOne(session));
                });
            }
            Hold[] held = {Local.takeOne(session)};
            print("give back and take in one exchange", 20_000, round -> {
                ExchangeResult result = session.exchange(new ExchangeRequest(List.of(held[0]), List.of(1), 1, false));
                held[0] = ((Answer.Granted) result.answers().get(0)).holds().get(0);
            });
            print("renew of one hold", 20_000, round -> session.renew(List.of(held[0])));
            print("describe of one slot", 10_000, round -> backend.admin().describe("one"));
        }
    }

    private static void manySlots(SemaphoreBackend backend, Path directory) {
        long start = System.nanoTime();
        backend.admin().create("many", 10_000);
        System.out.printf(Locale.ROOT, "create with 10000 slots: %d ms%n", (System.nanoTime() - start) / 1_000_000);
        backend.admin().resize("many", 1_000);
        try (BackendSession session = Local.session(backend, "many");
                Child child = Child.start("hold", directory, "many", 999)) {
            child.await("HOLDS");
            print("take and give back, 999 of 1000 held elsewhere", 5_000, round -> {
                Local.giveBack(session, Local.takeOne(session));
            });
            Hold last = Local.takeOne(session);
            print("refusal, 1000 of 1000 held", 5_000, round -> Local.take(session, 1));
            print("describe, 1000 of 1000 held", 20, round -> backend.admin().describe("many"));
            Local.giveBack(session, last);
            child.finish();
        }
        backend.admin().destroy("many");
    }

    private static void wakeUps(SemaphoreBackend backend, Path directory, int rounds) throws Exception {
        backend.admin().create("wake", 1);
        Random random = new Random();
        long[] orderly = new long[rounds];
        long[] killed = new long[Math.max(1, rounds / 4)];
        try (Child waiter = Child.start("wait", directory, "wake")) {
            waiter.await("GOT");
            try (SemaphoreClient client = SemaphoreClient.connect("local:" + directory)) {
                for (int i = 0; i < rounds; i++) {
                    long released;
                    try (Permit permit = client.semaphore("wake").acquire()) {
                        waiter.next();
                        waiter.await("WAITS");
                        Thread.sleep(20 + random.nextInt(100));
                        released = System.nanoTime();
                        permit.release();
                    }
                    orderly[i] = Long.parseLong(waiter.await("GOT").split(" ")[0]) - released;
                }
            }
            for (int i = 0; i < killed.length; i++) {
                try (Child holder = Child.start("hold", directory, "wake", 1)) {
                    holder.await("HOLDS");
                    waiter.next();
                    waiter.await("WAITS");
                    Thread.sleep(200 + random.nextInt(100));
                    long at = System.nanoTime();
                    holder.kill();
                    killed[i] = Long.parseLong(waiter.await("GOT").split(" ")[0]) - at;
                }
            }
        }
        print("waiter in another process after a release", orderly);
        print("waiter in another process after kill -9", killed);
    }

    private static void print(String what, int rounds, IntConsumer action) {
        for (int i = 0; i < Math.max(1, rounds / 10); i++) {
            action.accept(i);
        }
        long[] nanos = new long[rounds];
        for (int i = 0; i < rounds; i++) {
            long start = System.nanoTime();
            action.accept(i);
            nanos[i] = System.nanoTime() - start;
        }
        print(what, nanos);
    }

    private static void print(String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                Locale.ROOT,
                "%s: p50 %.1f us, p99 %.1f us, max %.1f us (%d)%n",
                what,
                nanos[nanos.length / 2] / 1e3,
                nanos[nanos.length * 99 / 100] / 1e3,
                nanos[nanos.length - 1] / 1e3,
                nanos.length);
    }

    private static void deleteAll(Path top) throws IOException {
        try (Stream<Path> files = Files.walk(top)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
