package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.cli.live.Change.Kind;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Asks a backend again and again about its semaphores, and keeps what the views show: the last answer, what has changed, and how
 * many slots were in use at the last {@value #KEPT} readings. Takes no permits and changes nothing.
 *
 * <p>It rests after each reading for so long that the reading is at most a tenth of the time; the first one, which makes the
 * connection, does not count. While the backend does not answer it keeps what it has, and asks again after a few seconds at
 * most.
 *
 * <p>{@link #latest} may be called from any thread and does not block. {@link #read} is for one thread.
 */
final class Readings implements AutoCloseable {
    /** Ten minutes of one reading a second. */
    static final int KEPT = 600;

    /** Of the option {@code --every}. */
    static final String EVERY_HELP = "the time from one reading to the next, from 1s to 1h; default: 1s";

    static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofHours(1);

    private static final int CHANGES_KEPT = 100;
    static final String MISSING = "there is no such semaphore";
    private static final int REST_PER_READING = 9;
    private static final Duration LONGEST_REST_IN_SILENCE = Duration.ofSeconds(5);
    /** A question that is under way for longer counts as unanswered, though the call has not ended. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private static final long LONGEST_JOIN_MILLIS = 1_000;

    private final SemaphoreClient client;
    private final Snapshot.Source source;
    private final List<String> names;
    private final Duration every;
    private final CountDownLatch closed = new CountDownLatch(1);
    private @Nullable Thread reader;

    private final Map<String, Found> found = new TreeMap<>();
    private final Map<String, int[]> past = new TreeMap<>();
    private final long[] endedNanos = new long[KEPT];
    private final Deque<Change> changes = new ArrayDeque<>();
    private long reading;
    private boolean hasAnswered;

    private volatile long answeredNanos = System.nanoTime();
    private volatile long askedNanos;
    private volatile boolean isAsking;
    private volatile Snapshot latest;

    /**
     * Prepares the readings; no I/O.
     *
     * @param client whose backend is asked; ended by {@link #close}
     * @param uri where that backend is
     * @param names the semaphores to show; empty for all
     * @param every the time from one reading to the next, unless that is too short for the backend
     * @throws IllegalArgumentException if a name can be none of a semaphore
     * @throws UnsupportedOperationException if all are to be shown and the backend cannot list them
     */
    Readings(SemaphoreClient client, String uri, List<String> names, Duration every) {
        this.client = client;
        this.names = List.copyOf(names);
        this.every = every;
        this.source = new Snapshot.Source(
                client.guarantees().backend(),
                BackendUri.parse(uri).toString(),
                client.guarantees().detectionMax());
        names.forEach(name -> {
            Object unused = client.semaphore(name);
        });
        if (names.isEmpty()) {
            ListCommand.checkListing(client.guarantees());
        }
        latest = new Snapshot(
                source, 0, Instant.now(), Duration.ZERO, every, "", Duration.ZERO, List.of(), List.of(), List.of());
    }

    /** Checks the option {@code --every}. */
    static void checkEvery(Duration every) {
        if (every.compareTo(SHORTEST) < 0 || every.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "--every is '" + Durations.format(every) + "', it must be from 1s to 1h");
        }
    }

    /** What the backend says about one semaphore. */
    private record Found(@Nullable SemaphoreDescription description, String problem) {}

    /** Reads on a thread of its own until {@link #close}, which interrupts the listener too. The next reading waits for the listener. */
    void start(Consumer<Snapshot> listener) {
        Thread thread = new Thread(() -> readOn(listener), "semaphore-readings");
        thread.setDaemon(true);
        thread.start();
        reader = thread;
    }

    private void readOn(Consumer<Snapshot> listener) {
        try {
            do {
                listener.accept(read());
            } while (!closed.await(latest.pause().toNanos(), TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Returns what is known now. A question that is under way for some time shows as trouble.
     */
    Snapshot latest() {
        Snapshot known = latest;
        Duration asking = isAsking ? since(askedNanos) : Duration.ZERO;
        if (known.trouble().isEmpty() && asking.compareTo(PATIENCE) < 0) {
            return known;
        }
        return known.silent(
                known.trouble().isEmpty() ? "the backend has not answered yet" : known.trouble(), since(answeredNanos));
    }

    private static Duration since(long nanos) {
        return Duration.ofNanos(System.nanoTime() - nanos);
    }

    /** Asks the backend once. What fails shows in the snapshot. */
    Snapshot read() {
        long asked = System.nanoTime();
        askedNanos = asked;
        isAsking = true;
        try {
            return note(asked, ask(), "");
        } catch (RuntimeException e) {
            return note(asked, Map.of(), reason(e));
        } finally {
            isAsking = false;
        }
    }

    /**
     * Asks the backend once.
     *
     * @throws SemaphoreException if it does not answer
     */
    Snapshot readOrFail() {
        return note(System.nanoTime(), ask(), "");
    }

    private Snapshot note(long asked, Map<String, Found> answer, String trouble) {
        long ended = System.nanoTime();
        Instant now = Instant.now();
        reading++;
        endedNanos[index(reading)] = ended;
        if (trouble.isEmpty()) {
            answeredNanos = ended;
            noteAnswer(now, answer);
        } else {
            noteSilence(now, trouble);
        }
        Duration took = Duration.ofNanos(ended - asked);
        // It also made the connection, which says nothing about the next ones.
        boolean isFirst =
                trouble.isEmpty() && (reading == 1 || !latest.trouble().isEmpty());
        latest = new Snapshot(
                source,
                reading,
                now,
                took,
                isFirst ? every : rest(every, took, trouble.isEmpty()),
                trouble,
                Duration.ofNanos(ended - answeredNanos),
                rows(),
                List.copyOf(changes),
                ages(ended));
        return latest;
    }

    private Map<String, Found> ask() {
        Map<String, Found> answer = new TreeMap<>();
        boolean all = names.isEmpty();
        for (String name : all ? client.admin().names() : names) {
            Found one = ask(name);
            // One that is destroyed between the two calls is not there any more.
            if (!all || one.description() != null || !one.problem().equals(MISSING)) {
                answer.put(name, one);
            }
        }
        return answer;
    }

    private Found ask(String name) {
        // Each answer shows that the backend is there, however many questions a reading has.
        askedNanos = System.nanoTime();
        try {
            return client.admin()
                    .describe(name)
                    .map(description -> new Found(description, ""))
                    .orElse(new Found(null, MISSING));
        } catch (IncompatibleStateException e) {
            return new Found(null, reason(e));
        }
    }

    private static String reason(RuntimeException failure) {
        String message = failure.getMessage();
        return message == null || !(failure instanceof SemaphoreException) ? failure.toString() : message;
    }

    /** How long to rest, so that asking is a tenth of the time. Asking a backend that does not answer costs it little. */
    static Duration rest(Duration every, Duration took, boolean answered) {
        Duration enough = took.multipliedBy(REST_PER_READING);
        if (!answered) {
            return longer(every, shorter(enough, LONGEST_REST_IN_SILENCE));
        }
        return longer(every.minus(took), enough);
    }

    private static Duration longer(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private void noteSilence(Instant now, String trouble) {
        if (latest.trouble().isEmpty()) {
            keep(List.of(new Change(reading, now, "", Kind.NO_ANSWER, trouble)));
        }
        past.values().forEach(use -> use[index(reading)] = Row.UNKNOWN);
    }

    private void noteAnswer(Instant now, Map<String, Found> answer) {
        if (!latest.trouble().isEmpty()) {
            keep(List.of(new Change(reading, now, "", Kind.ANSWERS, "")));
        }
        if (hasAnswered) {
            TreeSet<String> all = new TreeSet<>(found.keySet());
            all.addAll(answer.keySet());
            all.forEach(name ->
                    keep(Change.between(reading, now, name, description(found, name), description(answer, name))));
        }
        hasAnswered = true;
        found.clear();
        found.putAll(answer);
        past.keySet().retainAll(found.keySet());
        found.forEach((name, one) ->
                past.computeIfAbsent(name, unused -> unknown())[index(reading)] = one.description() == null
                        ? Row.UNKNOWN
                        : one.description().limit() - one.description().free());
    }

    private static @Nullable SemaphoreDescription description(Map<String, Found> from, String name) {
        Found one = from.get(name);
        return one == null ? null : one.description();
    }

    private static int[] unknown() {
        int[] use = new int[KEPT];
        Arrays.fill(use, Row.UNKNOWN);
        return use;
    }

    private void keep(List<Change> more) {
        changes.addAll(more);
        while (changes.size() > CHANGES_KEPT && changes.getFirst().reading() < reading) {
            changes.removeFirst();
        }
    }

    private List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        found.forEach((name, one) -> {
            int[] use = past.getOrDefault(name, unknown());
            rows.add(new Row(
                    name,
                    one.description(),
                    one.problem(),
                    kept().mapToObj(number -> use[index(number)]).toList()));
        });
        return rows;
    }

    private List<Long> ages(long ended) {
        return kept().mapToObj(number -> (ended - endedNanos[index(number)]) / 1_000_000)
                .toList();
    }

    private LongStream kept() {
        return LongStream.rangeClosed(Math.max(1, reading - KEPT + 1), reading);
    }

    private static int index(long number) {
        return (int) (number % KEPT);
    }

    /** Ends the client without waiting for the backend, as nothing is held, and the thread that reads. */
    @Override
    public void close() {
        closed.countDown();
        client.abort();
        if (reader == null) {
            return;
        }
        // The listener may wait for somebody who has gone.
        reader.interrupt();
        try {
            // An answer that was under way ends with the client; a daemon need not be waited for longer.
            reader.join(LONGEST_JOIN_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
