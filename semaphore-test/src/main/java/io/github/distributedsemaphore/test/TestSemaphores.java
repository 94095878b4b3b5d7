package io.github.distributedsemaphore.test;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryPlace;
import io.github.distributedsemaphore.memory.MemoryProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A backend in memory for one test, with faults that the test asks for by name.
 *
 * <pre>{@code
 * try (TestSemaphores semaphores = TestSemaphores.manual()) {
 *     semaphores.create("exports", 1);
 *     Permit other = semaphores.otherProcess().semaphore("exports").tryAcquire().orElseThrow();
 *     Exporter exporter = new Exporter(SemaphoreClient.connect(semaphores.uri()));
 *     CompletableFuture<Report> report = exporter.start(); // waits for a permit for a minute
 *     semaphores.advance(Duration.ofMinutes(1));           // which is over at once
 *     assertThatThrownBy(report::join).hasCauseInstanceOf(SemaphoreTimeoutException.class);
 *     other.release();
 *     semaphores.assertNothingHeld();
 * }
 * }</pre>
 *
 * <p>The server has a lease of 9.5 s: it frees the slots of a client that died within 10 s. Its clients run on the engine that
 * runs on every backend. Thread-safe, but for {@link #advance}, which one thread calls at a time.
 */
public final class TestSemaphores implements AutoCloseable {
    private static final Duration DETECTION = Duration.ofSeconds(10);
    private static final long SETTLING_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration SETTLING_STEP = Duration.ofMillis(10);
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final String name = "test-" + COUNT.incrementAndGet();
    private final @Nullable ManualTime time;
    private final TestServer server;
    private final Map<SemaphoreClient, MemoryBackend> clients = new ConcurrentHashMap<>();
    private final AtomicInteger processes = new AtomicInteger();
    private final SemaphoreClient client;

    private TestSemaphores(@Nullable ManualTime time) {
        this.time = time;
        this.server =
                new TestServer(time == null ? System::nanoTime : time::nanoTime, MemoryPlace.leaseFor(DETECTION), time);
        MemoryProvider.add(name, new MemoryPlace(DETECTION, server::connect));
        this.client = connect(HolderInfo.ofThisProcess(""));
    }

    /**
     * Makes a server whose time, and that of all its clients, goes on when {@link #advance} says so.
     *
     * @return to be closed at the end of the test
     */
    public static TestSemaphores manual() {
        return new TestSemaphores(new ManualTime());
    }

    /**
     * Makes a server by the time of this machine.
     *
     * @return to be closed at the end of the test
     */
    public static TestSemaphores realTime() {
        return new TestSemaphores(null);
    }

    /**
     * Returns the URI of this server, for an application that connects by itself. Its clients have the same clock and the same faults.
     *
     * @return valid in this JVM until {@link #close}
     */
    public String uri() {
        return "memory:" + name;
    }

    /**
     * Returns a client of the test itself.
     *
     * @return the same each time; {@link #close} closes it
     */
    public SemaphoreClient client() {
        return client;
    }

    /**
     * Connects a client that stands for another process: it has a session and a process id of its own.
     *
     * @return a new one each time; {@link #close} closes it
     */
    public SemaphoreClient otherProcess() {
        int number = processes.incrementAndGet();
        return connect(new HolderInfo("other-host", 1_000_000L + number, "other process " + number));
    }

    private SemaphoreClient connect(HolderInfo self) {
        MemoryBackend backend = server.connect(self);
        SemaphoreClient connected = SemaphoreClient.builder(backend).connect();
        clients.put(connected, backend);
        return connected;
    }

    /**
     * Creates a semaphore.
     *
     * @param semaphoreName its name, of up to 1,000 bytes of UTF-8
     * @param limit how many permits it has, from 1 to 100,000
     * @return the semaphore as {@link #client} sees it
     * @throws io.github.distributedsemaphore.LimitConflictException if it exists with another limit
     */
    public DistributedSemaphore create(String semaphoreName, int limit) {
        client.admin().create(semaphoreName, limit);
        return client.semaphore(semaphoreName);
    }

    /**
     * Returns the time of this server and its clients.
     *
     * @return in nanoseconds on the scale of {@link System#nanoTime}, for {@link Deadline#nanosFrom}. {@link Deadline#remaining}
     *     goes by the time of the machine in any case
     */
    public long nanoTime() {
        return server.now();
    }

    /**
     * Lets time pass, and returns when the clients have done what was due on the way: timers, renewals, time-outs. A thread of
     * the application that was woken by it goes on by itself. Blocks for at most 10 s of real time for each such instant.
     *
     * @param by how long; zero lets the clients do what is due now
     * @throws IllegalArgumentException if it is negative
     * @throws IllegalStateException if this server goes by real time, or a listener calls it
     * @throws AssertionError if the clients do not come to rest, for instance since a loss listener of the application blocks
     */
    public void advance(Duration by) {
        manualTime("advance").advance(by);
    }

    private ManualTime manualTime(String what) {
        if (time == null) {
            throw new IllegalStateException(
                    "'" + what + "' needs a clock that a test can advance: TestSemaphores.manual()");
        }
        return time;
    }

    private void settle() {
        if (time != null) {
            time.settle();
        }
    }

    /**
     * Has the backend take a permit from its holder, as {@link LossCause#TAKEN_BY_BACKEND}. Its slot is free at once.
     *
     * @param permit one that is held
     * @throws IllegalArgumentException if its slot is not held
     */
    public void lose(Permit permit) {
        lose(permit, LossCause.TAKEN_BY_BACKEND);
    }

    /**
     * Has a permit lost for a cause. {@link LossCause#SESSION_ENDED} takes all permits of the same client at the same semaphore.
     * {@link LossCause#NOT_RENEWED_IN_TIME} makes the backend unavailable and advances the clock until the permit has ended, so it takes
     * those of other clients too. An outage that a test has asked for goes on if it is longer.
     *
     * @param permit one that is held
     * @param cause why
     * @throws IllegalArgumentException if its slot is not held, or for {@link LossCause#CLIENT_ABORTED}, which {@link
     *     SemaphoreClient#abort} brings
     * @throws IllegalStateException if the cause needs a clock that can be advanced, and there is none
     */
    public void lose(Permit permit, LossCause cause) {
        boolean held = switch (cause) {
            case TAKEN_BY_BACKEND ->
                server.revoke(permit.semaphoreName(), permit.slot(), "the test has taken its slot");
            case SESSION_ENDED ->
                server.endSession(permit.semaphoreName(), permit.slot(), "the test has ended the session");
            case NOT_RENEWED_IN_TIME -> isHeldUntilItEnds(permit);
            case CLIENT_ABORTED ->
                throw new IllegalArgumentException("A permit is lost as CLIENT_ABORTED when its client is aborted:"
                        + " call SemaphoreClient.abort()");
        };
        if (!held) {
            throw new IllegalArgumentException(
                    "Slot " + permit.slot() + " of '" + permit.semaphoreName() + "' is not held, so it cannot be lost");
        }
        settle();
    }

    private boolean isHeldUntilItEnds(Permit permit) {
        ManualTime clock = manualTime("lose(NOT_RENEWED_IN_TIME)");
        boolean held = permit.isValid();
        if (held) {
            long left = permit.validUntil().nanosFrom(nanoTime());
            server.unavailableAtLeastUntil(Deadline.after(nanoTime(), Duration.ofNanos(left)));
            clock.advance(Duration.ofNanos(left));
        }
        return held;
    }

    /**
     * Makes the backend unavailable for a while, for all clients: each call fails with {@link
     * io.github.distributedsemaphore.BackendUnavailableException}. Calls that wait go on waiting, at most for the setting {@code
     * outagePatience}, by default 30 s, and fail then.
     *
     * @param time how long from now, by the clock of this server; zero ends it
     */
    public void unavailable(Duration time) {
        server.unavailableUntil(Deadline.after(nanoTime(), time));
    }

    /**
     * Has the backend serve the next request that takes or gives back permits, and loses its answer. A call that does not wait
     * and a release fail with {@link io.github.distributedsemaphore.OutcomeUnknownException}; the client finds out afterwards
     * what became of it. A call that waits goes on waiting until then.
     */
    public void unknownOutcomeOnce() {
        server.loseAnswerOnce();
    }

    /** Has the backend refuse the next request for permits as if none were free. A call that waits asks again. */
    public void refuseOnce() {
        server.refuseOnce();
    }

    /**
     * Has a client die without a word, as a process that is killed: its slots are free when its lease is over.
     *
     * @param process one that {@link #otherProcess} or {@link #client} returned
     * @throws IllegalArgumentException if it is another
     */
    public void kill(SemaphoreClient process) {
        MemoryBackend backend = clients.get(process);
        if (backend == null) {
            throw new IllegalArgumentException("This client is not one that otherProcess() or client() returned");
        }
        server.crash(backend);
        process.abort();
    }

    /**
     * Fails if a permit is held by whomever. While one is, it waits for up to a second for what is under way: releases, and permits of
     * calls whose outcome was unknown. A manual clock is advanced for that.
     *
     * @throws AssertionError if so; the message names each slot and its holder
     */
    public void assertNothingHeld() {
        settle();
        long end = nanoTime() + SETTLING_NANOS;
        List<String> held = server.held();
        while (!held.isEmpty() && nanoTime() - end < 0) {
            goOn();
            held = server.held();
        }
        if (!held.isEmpty()) {
            throw new AssertionError("Permits are held that the test was to release: " + String.join(", ", held));
        }
    }

    private void goOn() {
        if (time == null) {
            Thread.onSpinWait();
        } else {
            time.advance(SETTLING_STEP);
        }
    }

    /** Closes the clients that this object made, and forgets the server. A client that came by the URI is its maker's to close. */
    @Override
    public void close() {
        server.unavailableUntil(Deadline.at(nanoTime()));
        clients.keySet().forEach(SemaphoreClient::close);
        MemoryProvider.remove(name);
        if (time != null) {
            time.close();
        }
    }
}
