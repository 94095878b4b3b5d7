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
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A server in memory to which the faults of a test happen. Thread-safe. */
final class TestServer extends MemoryServer {
    private final AtomicInteger refusals = new AtomicInteger();
    private final AtomicBoolean losesAnswer = new AtomicBoolean();
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

    /** An outage that ends later goes on. */
    void unavailableAtLeastUntil(Deadline end) {
        if (awayUntil.isBefore(end)) {
            awayUntil = end;
        }
    }

    void refuseOnce() {
        refusals.incrementAndGet();
    }

    void loseAnswerOnce() {
        losesAnswer.set(true);
    }

    /** What one client's calls pass through. */
    private Link line() {
        AtomicBoolean losesNext = new AtomicBoolean();
        return Link.with(what -> requireAvailable(), what -> loseAnswer(what, losesNext));
    }

    private void requireAvailable() {
        if (!awayUntil.isPast(now())) {
            throw new BackendUnavailableException("The test has made the backend unavailable", null);
        }
    }

    /** That of a request, and that of the first question what became of it, which the same client asks. */
    private void loseAnswer(String what, AtomicBoolean losesNext) {
        boolean first = what.equals("exchange") && losesAnswer.getAndSet(false);
        if (first || (what.equals("resolve") && losesNext.getAndSet(false))) {
            losesNext.set(first);
            throw new OutcomeUnknownException("The test has lost the answer of the backend", null);
        }
    }

    @Override
    protected List<Answer> grantAll(ServerSession session, MemorySemaphore semaphore, ExchangeRequest request) {
        int wants = request.wants().size();
        return wants > 0 && refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0
                ? Collections.nCopies(wants, Answer.FULL)
                : super.grantAll(session, semaphore, request);
    }

    /** One client by real time; its calls never block, so it begins exchanges itself. */
    private static class Client extends MemoryBackend {
        Client(TestServer server, HolderInfo self) {
            super(server, self, server.line());
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
