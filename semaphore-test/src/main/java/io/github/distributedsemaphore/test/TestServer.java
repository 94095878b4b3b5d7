package io.github.distributedsemaphore.test;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.internal.Environment;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A server in memory to which the faults of a test happen. Thread-safe. */
final class TestServer extends MemoryServer implements Link {
    /** The first request of unknown outcome, and the question what became of it. */
    private static final Set<String> EXCHANGES = Set.of("exchange", "resolve");

    private final AtomicInteger refusals = new AtomicInteger();
    private final AtomicInteger lostAnswers = new AtomicInteger();
    private final @Nullable ManualTime time;
    private volatile Deadline awayUntil;

    TestServer(LongSupplier nanoTime, Duration lease, @Nullable ManualTime time) {
        super(nanoTime, lease, ALL, Runnable::run);
        this.time = time;
        this.awayUntil = Deadline.at(nanoTime.getAsLong());
    }

    MemoryBackend connect(HolderInfo self) {
        return time == null ? new Client(this, self) : new ManualClient(this, self, time);
    }

    void unavailableUntil(Deadline end) {
        awayUntil = end;
    }

    void refuseOnce() {
        refusals.incrementAndGet();
    }

    void loseAnswerOnce() {
        lostAnswers.set(2);
    }

    @Override
    public <T> T call(String what, Supplier<T> onServer) {
        if (!awayUntil.isPast(now())) {
            throw new BackendUnavailableException("The test has made the backend unavailable", null);
        }
        T answer = onServer.get();
        if (EXCHANGES.contains(what) && lostAnswers.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw new OutcomeUnknownException("The test has lost the answer of the backend", null);
        }
        return answer;
    }

    @Override
    protected MemorySemaphore newSemaphore() {
        return new MemorySemaphore() {
            @Override
            protected Answer grant(ServerSession session, int permits, int epochs) {
                return refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0
                        ? Answer.FULL
                        : super.grant(session, permits, epochs);
            }
        };
    }

    /** One client by real time; its calls never block, so it begins exchanges itself. */
    private static class Client extends MemoryBackend {
        Client(TestServer server, HolderInfo self) {
            super(server, self, server);
        }

        @Override
        protected Executor network() {
            return AT_ONCE;
        }
    }

    private static final class ManualClient extends Client implements Environment.Source {
        private final ManualTime time;

        ManualClient(TestServer server, HolderInfo self, ManualTime time) {
            super(server, self);
            this.time = time;
        }

        @Override
        public Environment environment() {
            return time.environment();
        }
    }
}
