package io.github.distributedsemaphore.tck.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** One client with one session: how it asks, and what the session said of its own accord. Asks from one thread at a time. */
final class SessionClient implements SessionListener {
    static final int EPOCHS = 10;

    final SemaphoreBackend backend;
    final BackendSession session;
    final List<Hold> lost = new CopyOnWriteArrayList<>();
    final List<String> ended = new CopyOnWriteArrayList<>();
    private boolean aborted;
    private volatile boolean hinted;
    private Deadline recheck = Deadline.NEVER;
    private boolean startNext;

    SessionClient(SemaphoreBackend backend, String name) {
        this.backend = backend;
        this.session = backend.open(name, this);
    }

    void abort() {
        aborted = true;
        session.abort();
    }

    void end() {
        if (!aborted) {
            session.close();
        }
    }

    @Override
    public void lost(Collection<Hold> holds, String reason) {
        lost.addAll(holds);
    }

    @Override
    public void ended(String reason) {
        ended.add(reason);
    }

    static ExchangeRequest wanting(Integer... wants) {
        return new ExchangeRequest(List.of(), List.of(wants), EPOCHS, false);
    }

    static ExchangeRequest returning(Hold... holds) {
        return new ExchangeRequest(List.of(holds), List.of(), EPOCHS, false);
    }

    /** Asks by both ways in turn: the engine starts an exchange where it can, and else makes it. */
    ExchangeResult exchange(ExchangeRequest request) {
        startNext = !startNext;
        CompletionStage<ExchangeResult> started = startNext ? session.start(request) : null;
        return started == null
                ? session.exchange(request)
                : started.toCompletableFuture()
                        .orTimeout(backend.guarantees().callBound().toNanos(), TimeUnit.NANOSECONDS)
                        .join();
    }

    List<Answer> want(Integer... wants) {
        return exchange(wanting(wants)).answers();
    }

    List<Hold> take(int permits) {
        return holds(want(permits).get(0));
    }

    static List<Hold> holds(Answer answer) {
        assertThat(answer).isInstanceOf(Answer.Granted.class);
        return ((Answer.Granted) answer).holds();
    }

    ExchangeResult giveBack(Hold... holds) {
        return exchange(returning(holds));
    }

    boolean isRefused() {
        Answer answer = want(1).get(0);
        if (answer instanceof Answer.Granted granted) {
            giveBack(granted.holds().toArray(Hold[]::new));
        }
        return answer.equals(Answer.FULL);
    }

    BackendSession.Watch startToWait() {
        BackendSession.Watch watch = session.watch(() -> hinted = true);
        assertThat(ask()).isEqualTo(Answer.FULL);
        return watch;
    }

    /** For a caller that goes on waiting. */
    Answer ask() {
        hinted = false;
        ExchangeResult result = exchange(new ExchangeRequest(List.of(), List.of(1), EPOCHS, true));
        recheck = result.recheck();
        return result.answers().get(0);
    }

    /** Tells whether the engine would ask again, were it not for its own timer: for a hint, or because the last answer named the time. */
    boolean isToAskAgain() {
        return hinted || recheck.isPast(System.nanoTime());
    }
}
