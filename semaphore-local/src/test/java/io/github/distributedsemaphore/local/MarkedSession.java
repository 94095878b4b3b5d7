package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A session that leaves {@link Marks} of what it holds and of its waiting. */
final class MarkedSession implements BackendSession {
    private static final Duration RECHECK = Duration.ofMillis(50);

    private final ProcessMutant mutant;
    private final BackendSession right;
    private final Marks marks;
    private final Runnable addPermit;
    private final Set<Hold> held = ConcurrentHashMap.newKeySet();

    MarkedSession(ProcessMutant mutant, BackendSession right, Marks marks, Runnable addPermit) {
        this.mutant = mutant;
        this.right = right;
        this.marks = marks;
        this.addPermit = addPermit;
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        if (mutant.addsPermit(marks)) {
            addPermit.run();
        }
        ExchangeResult result =
                !request.wants().isEmpty() && mutant.refuses(marks) ? refused(request) : right.exchange(request);
        request.giveBack().forEach(this::unmark);
        for (Answer answer : result.answers()) {
            if (answer instanceof Answer.Granted granted) {
                granted.holds().forEach(this::mark);
            }
        }
        return result;
    }

    private ExchangeResult refused(ExchangeRequest request) {
        ExchangeResult gaveBack =
                right.exchange(new ExchangeRequest(request.giveBack(), List.of(), request.epochs(), request.waiting()));
        return ExchangeResult.of(Collections.nCopies(request.wants().size(), Answer.FULL))
                .lost(gaveBack.lost())
                .recheck(Deadline.after(System.nanoTime(), RECHECK))
                .build();
    }

    private void mark(Hold hold) {
        held.add(hold);
        marks.put(Marks.Kind.HOLDS, key(hold));
    }

    private void unmark(Hold hold) {
        if (held.remove(hold)) {
            marks.remove(Marks.Kind.HOLDS, key(hold));
        }
    }

    private static String key(Hold hold) {
        return hold.slot() + "-" + hold.epoch();
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        return right.resolve(request);
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        return right.renew(holds);
    }

    @Override
    public Duration renewEvery() {
        return right.renewEvery();
    }

    @Override
    public HoldState check(Hold hold) {
        return right.check(hold);
    }

    @Override
    public Watch watch(Runnable hint) {
        return right.watch(hint);
    }

    @Override
    public void close() {
        held.forEach(this::unmark);
        right.close();
    }

    @Override
    public void abort() {
        held.forEach(this::unmark);
        right.abort();
    }
}
