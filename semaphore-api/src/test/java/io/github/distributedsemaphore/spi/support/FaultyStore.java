package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A store in memory whose clock is set by hand, and whose link loses what the test says. Thread-safe. */
final class FaultyStore implements CasStore {
    /** What happens to the next writes, one after the other. */
    enum Fate {
        DONE,
        REQUEST_LOST,
        ANSWER_LOST,
        /** As by a stack or a memory that is too small for the answer. */
        ANSWER_FAILS,
        /** It arrives when {@link #deliver} is called. */
        LATE
    }

    private final Map<String, Entry> entries = new TreeMap<>();
    private final Deque<Fate> fates = new ArrayDeque<>();
    private final Deque<Change> late = new ArrayDeque<>();
    final AtomicInteger requests = new AtomicInteger();
    /** The deadlines of requests, and the thread that had each. */
    final Map<Deadline, Thread> ends = new ConcurrentHashMap<>();

    final List<String> hints = new CopyOnWriteArrayList<>();
    private Runnable beforeAnswer = () -> {};
    private long lastVersion;
    private long clock = 1_800_000_000_000L;

    synchronized void expect(Fate... next) {
        fates.addAll(List.of(next));
    }

    /** Has something done, by this client too, after the next write that is made and before its answer is there. */
    synchronized void beforeNextAnswer(Runnable action) {
        beforeAnswer = action;
    }

    synchronized void passes(long millis) {
        clock += millis;
    }

    synchronized void put(String name, String value) {
        entries.put(name, new Entry(value, ++lastVersion, 0));
    }

    /** A replica takes over that has this content, with its version, as the last one. */
    synchronized void failOver(String name, Entry replicated) {
        entries.put(name, replicated);
    }

    synchronized String text(String name) {
        return now(name).value();
    }

    synchronized boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Lets a write arrive that was on its way; returns whether it did anything. */
    synchronized boolean deliver() {
        return apply(late.remove()).done();
    }

    @Override
    public synchronized Entry read(String name, Deadline end) {
        requests.incrementAndGet();
        ends.put(end, Thread.currentThread());
        return now(name);
    }

    private Entry now(String name) {
        Entry stored = entries.getOrDefault(name, new Entry("", 0, 0));
        return new Entry(stored.value(), stored.version(), clock);
    }

    @Override
    public synchronized Written write(Change change, Deadline end) {
        requests.incrementAndGet();
        ends.put(end, Thread.currentThread());
        switch (fates.isEmpty() ? Fate.DONE : fates.remove()) {
            case REQUEST_LOST -> throw new OutcomeUnknownException("the request is lost", null);
            case ANSWER_LOST -> {
                Written unused = apply(change);
                throw new OutcomeUnknownException("the answer is lost", null);
            }
            case ANSWER_FAILS -> {
                Written unused = apply(change);
                throw new InternalError("made by a test");
            }
            case LATE -> {
                late.add(change);
                throw new OutcomeUnknownException("the request is late", null);
            }
            default -> {
                Written written = apply(change);
                Runnable meanwhile = beforeAnswer;
                beforeAnswer = () -> {};
                meanwhile.run();
                return written;
            }
        }
    }

    private Written apply(Change change) {
        boolean done = now(change.name()).version() == change.expected();
        if (done && change.value().isEmpty()) {
            entries.remove(change.name());
        } else if (done) {
            entries.put(change.name(), new Entry(change.value(), ++lastVersion, 0));
        }
        if (done && !change.hint().isEmpty()) {
            hints.add(change.hint());
        }
        return new Written(done, now(change.name()));
    }

    @Override
    public synchronized Map<String, Entry> list(Deadline end) {
        if (end.isPast(System.nanoTime())) {
            throw new BackendUnavailableException("too late", null);
        }
        Map<String, Entry> found = new TreeMap<>();
        entries.keySet().forEach(name -> found.put(name, now(name)));
        return found;
    }

    @Override
    public void close() {}
}
