package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: the slot files it has locked. */
final class LocalSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(LocalSession.class);

    private final StateDirectory state;
    private final LocalSettings settings;
    private final SharedSemaphore shared;
    private final HeldSlots held = new HeldSlots();
    private final long owner =
            OwnerIndex.owner(LockTable.PROCESS, ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE));

    LocalSession(StateDirectory state, LocalSettings settings, String name) {
        this.state = state;
        this.settings = settings;
        this.shared = state.use(name);
    }

    /**
     * An exchange as far as it has come.
     *
     * @param result what to answer
     * @param freed whether a slot became free
     */
    private record Outcome(ExchangeResult result, boolean freed) {}

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        try (Call call = Call.within(settings.timeout())) {
            return during(call, request);
        } catch (IOException e) {
            throw Failures.of(subject(), e);
        }
    }

    /** Does the whole exchange if no other thread or process has the mutex: it then takes some ten microseconds. */
    @Override
    public @Nullable CompletionStage<ExchangeResult> start(ExchangeRequest request) {
        try (Call call = Call.withoutWaiting()) {
            return CompletableFuture.completedFuture(during(call, request));
        } catch (Call.WouldWaitException e) {
            return null;
        } catch (IOException e) {
            return CompletableFuture.failedFuture(Failures.of(subject(), e));
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private ExchangeResult during(Call call, ExchangeRequest request) throws IOException {
        held.requireOpen(shared.name());
        try {
            state.requireFormat(call);
            Outcome outcome = exchange(request, call);
            if (outcome.freed) {
                shared.wake(this);
            }
            return outcome.result;
        } catch (IncompatibleStateException e) {
            throw Failures.of(subject(), e);
        }
    }

    private String subject() {
        return "Semaphore '" + shared.name() + "' in " + state.path();
    }

    private Outcome exchange(ExchangeRequest request, Call call) throws IOException {
        if (!shared.enter(call)) {
            held.remove(request.giveBack()).forEach(SlotFile::close);
            List<Answer> answers = Collections.nCopies(request.wants().size(), Answer.MISSING);
            return new Outcome(result(Set.copyOf(request.giveBack()), answers, false), false);
        }
        try {
            Optional<LimitFile> limit =
                    request.wants().isEmpty() ? limitForRelease() : LimitFile.read(shared.directory());
            return limit.isPresent() ? exchange(request, limit.get(), call) : exchangeWithout(request);
        } finally {
            shared.leave();
        }
    }

    /** Reads the limit where a damaged one must not keep anybody from giving back: then no slot counts as removed. */
    private Optional<LimitFile> limitForRelease() throws IOException {
        try {
            return LimitFile.read(shared.directory());
        } catch (IncompatibleStateException e) {
            LOG.debug("{}: giving back under a damaged limit", subject(), e);
            return Optional.of(new LimitFile(LocalBackend.MAX_PERMITS, 0, ""));
        }
    }

    private Outcome exchange(ExchangeRequest request, LimitFile limit, Call call) throws IOException {
        Set<Hold> lost = new HashSet<>();
        Set<SlotFile> givenBack = filesOf(request.giveBack(), lost);
        int slots = Math.max(request.wants().isEmpty() ? 0 : limit.limit(), highest(givenBack));
        try (SlotTable table = SlotTable.open(shared.directory(), slots, OwnerIndex.UNKNOWN)) {
            EpochSource epochs = new EpochSource(state, shared.directory(), limit, call);
            SlotExchange exchange = new SlotExchange(table, epochs, limit.limit(), settings.self(), owner, givenBack);
            List<Answer> answers = serve(exchange, request);
            drop(held.remove(lost));
            held.remove(request.giveBack());
            boolean freed = exchange.finish();
            if (!held.add(exchange.taken())) {
                exchange.abandon();
                held.requireOpen(shared.name());
            }
            return new Outcome(result(lost, answers, wake(freed)), freed);
        }
    }

    private static List<Answer> serve(SlotExchange exchange, ExchangeRequest request) throws IOException {
        boolean served = false;
        try {
            List<Answer> answers = exchange.serve(request.wants(), request.epochs());
            served = true;
            return answers;
        } finally {
            if (!served) {
                exchange.undo();
            }
        }
    }

    /** Gives back where the semaphore does not exist any more, and clears up after the last holder. */
    private Outcome exchangeWithout(ExchangeRequest request) throws IOException {
        Set<Hold> lost = new HashSet<>();
        Set<SlotFile> givenBack = filesOf(request.giveBack(), lost);
        try (SlotTable table = SlotTable.openAll(shared.directory(), highest(givenBack))) {
            for (SlotFile file : givenBack) {
                table.delete(file);
            }
            held.remove(request.giveBack()).forEach(SlotFile::close);
            if (table.deleteFreeAbove(0) == 0) {
                shared.deleteDirectory();
            }
        }
        List<Answer> answers = Collections.nCopies(request.wants().size(), Answer.MISSING);
        return new Outcome(result(lost, answers, false), false);
    }

    private Set<SlotFile> filesOf(Collection<Hold> holds, Set<Hold> lost) throws IOException {
        Set<SlotFile> files = new LinkedHashSet<>();
        for (Hold hold : holds) {
            held.inPlace(hold).ifPresentOrElse(files::add, () -> lost.add(hold));
        }
        return files;
    }

    private static int highest(Set<SlotFile> files) {
        return files.stream().mapToInt(SlotFile::slot).max().orElse(0);
    }

    /** Wakes other processes if a slot became free; tells whether anybody else waits. */
    private boolean wake(boolean freed) {
        try {
            boolean others = shared.otherProcessesWaiting();
            if (freed && others) {
                shared.wakeOtherProcesses();
            }
            return others || shared.othersWaitingHere(this);
        } catch (IOException e) {
            // The exchange is done; waiters of other processes find out by asking again.
            LOG.warn("{}: other processes could not be woken: {}", subject(), e.toString());
            return true;
        }
    }

    private ExchangeResult result(Set<Hold> lost, List<Answer> answers, boolean othersWaiting) {
        Deadline recheck = answers.contains(Answer.FULL)
                ? Deadline.after(System.nanoTime(), settings.recheck(shared.isLookout()))
                : Deadline.NEVER;
        return ExchangeResult.of(answers)
                .lost(lost)
                .recheck(recheck)
                .othersWaiting(othersWaiting)
                .build();
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        List<Hold> still =
                held.all().stream().filter(request.giveBack()::contains).toList();
        ExchangeResult gaveBack = exchange(new ExchangeRequest(still, List.of(), 1, request.waiting()));
        List<Answer> answers = Collections.nCopies(request.wants().size(), Answer.NOT_DONE);
        return result(gaveBack.lost(), answers, gaveBack.othersWaiting());
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            int limit = limitForRelease().map(LimitFile::limit).orElse(0);
            Set<Hold> lost = new HashSet<>();
            Set<Hold> retired = new HashSet<>();
            for (Hold hold : holds) {
                if (held.inPlace(hold).isEmpty()) {
                    lost.add(hold);
                } else if (hold.slot() > limit) {
                    retired.add(hold);
                }
            }
            drop(held.remove(lost));
            return new Renewal(Deadline.NEVER, lost, retired);
        } catch (IOException e) {
            throw Failures.of(subject(), e);
        }
    }

    @Override
    public Duration renewEvery() {
        return LocalSettings.RENEW_EVERY;
    }

    @Override
    public HoldState check(Hold hold) {
        Renewal renewal = renew(List.of(hold));
        if (renewal.lost().contains(hold)) {
            return HoldState.LOST;
        }
        return renewal.retired().contains(hold) ? HoldState.RETIRED : HoldState.HELD;
    }

    @Override
    public Watch watch(Runnable hint) {
        held.requireOpen(shared.name());
        Watch watch = () -> shared.removeWatcher(this, hint);
        try (Call call = Call.within(settings.timeout())) {
            shared.addWatcher(this, hint, call);
            return watch;
        } catch (IOException e) {
            watch.close();
            throw Failures.of(subject(), e);
        }
    }

    @Override
    public void close() {
        try {
            List<Hold> rest = held.all();
            if (!rest.isEmpty()) {
                exchange(new ExchangeRequest(rest, List.of(), 1, false));
            }
        } catch (SemaphoreException e) {
            LOG.debug("{}: closing by dropping the locks", subject(), e);
        }
        abort();
    }

    @Override
    public void abort() {
        held.end().ifPresent(rest -> {
            drop(rest);
            state.release(shared);
        });
    }

    /**
     * Unlocks slots without the mutex. What the index gives to this process others of it leave alone, so it must not
     * outlive the lock.
     */
    private void drop(List<SlotFile> files) {
        if (files.isEmpty()) {
            return;
        }
        try (OwnerIndex index = OwnerIndex.openExisting(shared.directory())) {
            for (SlotFile file : files) {
                index.clear(file.slot(), owner);
            }
        } catch (IOException | IncompatibleStateException e) {
            LOG.debug("{}: the index keeps slots that were dropped", subject(), e);
        }
        files.forEach(SlotFile::close);
    }
}
