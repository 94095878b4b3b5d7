package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What other processes do in the tests; the first argument says what, the second is the state directory. */
public final class ChildMain {
    private ChildMain() {}

    /**
     * Runs.
     *
     * @param arguments what to do, and with what
     */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[1]);
        switch (arguments[0]) {
            case "hold" -> hold(directory, arguments[2], Integer.parseInt(arguments[3]));
            case "churn" -> churn(directory, arguments[2], HolderMap.open(Path.of(arguments[3])));
            case "administer" -> administer(directory);
            case "lock" -> lock(directory);
            case "count" -> count(directory, arguments[2]);
            case "wait" -> await(directory, arguments[2]);
            case "fail" -> failToExchange(directory, arguments[2]);
            case "release" -> failToRelease(directory, arguments[2]);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Holds some permits until the input ends. */
    private static void hold(Path directory, String name, int permits) throws IOException {
        try (SemaphoreBackend backend = Local.openAs("child", directory);
                BackendSession session = Local.session(backend, name)) {
            System.out.println(
                    "HOLDS " + Local.takeHolds(session, permits).get(0).epoch());
            awaitEndOfInput();
        }
    }

    /** Locks the first byte of a file until the input ends. */
    private static void lock(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.lock(0, 1, false);
            System.out.println("LOCKED");
            awaitEndOfInput();
        }
    }

    /** Takes whatever is free, and tells how much that was. */
    private static void count(Path directory, String name) throws IOException {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = Local.session(backend, name)) {
            int free = 0;
            while (Local.take(session, 1) instanceof Answer.Granted) {
                free++;
            }
            System.out.println("FREE " + free);
            awaitEndOfInput();
        }
    }

    private static void awaitNext() throws IOException {
        if (System.in.read() < 0) {
            throw new EOFException("the parent has gone");
        }
    }

    private static void awaitEndOfInput() throws IOException {
        while (System.in.read() >= 0) {
            // What it says does not matter.
        }
    }

    /** Takes and gives back without end, and stops the machine at the first sign of a second holder. */
    private static void churn(Path directory, String name, HolderMap map) throws IOException {
        Random random = new Random();
        System.out.println("READY");
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = Local.session(backend, name)) {
            List<Hold> held = new ArrayList<>();
            while (System.in.available() == 0) {
                List<Hold> back = random.nextBoolean() ? List.copyOf(held) : List.of();
                back.forEach(hold -> map.leave(hold.slot()));
                held.removeAll(back);
                List<Integer> wants = List.of(1 + random.nextInt(3), 1);
                ExchangeRequest request = new ExchangeRequest(back, wants, 1 + random.nextInt(100), false);
                for (Answer answer : session.exchange(request).answers()) {
                    if (answer instanceof Answer.Granted granted) {
                        granted.holds().forEach(hold -> map.enter(hold.slot(), hold.epoch(), hold.lastEpoch()));
                        held.addAll(granted.holds());
                    }
                }
            }
            held.forEach(hold -> map.leave(hold.slot()));
        } catch (AssertionError e) {
            e.printStackTrace();
            System.exit(3);
        }
    }

    /** Creates, resizes and destroys without end. */
    private static void administer(Path directory) throws IOException {
        Random random = new Random();
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = Local.session(backend, "shaky")) {
            BackendAdmin admin = backend.admin();
            System.out.println("READY");
            while (System.in.available() == 0) {
                admin.create("shaky", 2);
                for (int i = random.nextInt(3); i > 0; i--) {
                    Local.ask(session, 1);
                    admin.resize("shaky", 1 + random.nextInt(5));
                }
                session.exchange(new ExchangeRequest(List.of(), List.of(1), 1, false));
                admin.destroy("shaky");
            }
        }
    }

    /** Holds a slot, fails to change it for two, and tells how many were lost when it gives the one back. */
    private static void failToExchange(Path directory, String name) throws IOException {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = Local.session(backend, name)) {
            Hold hold = Local.takeOne(session);
            try {
                session.exchange(new ExchangeRequest(List.of(hold), List.of(2), 1, false));
                System.out.println("FAILED not");
            } catch (BackendUnavailableException e) {
                System.out.println("FAILED " + e.getMessage());
            }
            System.out.println("LOST " + Local.giveBack(session, hold).lost().size());
            awaitEndOfInput();
        }
    }

    /** Holds three slots, fails to give back two of them, and tells how many were lost when it tries again or finds out. */
    private static void failToRelease(Path directory, String name) throws IOException {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = Local.session(backend, name)) {
            List<Hold> holds = Local.takeHolds(session, 3);
            ExchangeRequest request = new ExchangeRequest(holds.subList(1, 3), List.of(), 1, false);
            System.out.println("HOLDS");
            awaitNext();
            SemaphoreException failure = failureOf(session, request);
            System.out.println("FAILED " + failure);
            awaitNext();
            ExchangeResult result =
                    failure instanceof OutcomeUnknownException ? session.resolve(request) : session.exchange(request);
            System.out.println("LOST " + result.lost().size());
            awaitEndOfInput();
        }
    }

    private static SemaphoreException failureOf(BackendSession session, ExchangeRequest request) {
        try {
            session.exchange(request);
            return null;
        } catch (SemaphoreException e) {
            return e;
        }
    }

    /** Waits for a permit again and again, and tells when it got it by the clock that all processes share. */
    private static void await(Path directory, String name) throws Exception {
        try (SemaphoreClient client = SemaphoreClient.connect("local:" + directory)) {
            while (true) {
                System.out.println("WAITS");
                try (Permit permit = client.semaphore(name).acquire(Duration.ofSeconds(60))) {
                    System.out.println("GOT " + System.nanoTime() + " " + permit.slot());
                }
                if (System.in.read() < 0) {
                    return;
                }
            }
        }
    }
}
