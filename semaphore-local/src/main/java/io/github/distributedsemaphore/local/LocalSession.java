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
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore: the slots that are its in the table. */
final class LocalSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(LocalSession.class);

    private final StateDirectory state;
    private final LocalSettings settings;
    private final SharedSemaphore shared;
    private final SessionByte own = new SessionByte();

    /** What was taken last, until its exchange is answered. One exchange or {@link #resolve} is done at a time. */
    private List<Hold> unanswered = List.of();

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
            throw Call.failure(subject(), e);
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
            return CompletableFuture.failedFuture(Call.failure(subject(), e));
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private ExchangeResult during(Call call, ExchangeRequest request) throws IOException {
        own.requireOpen(shared.name());
        try {
            state.requireFormat(call);
            Outcome outcome = exchange(request, call);
            if (outcome.freed) {
                shared.wake(this);
            }
            unanswered = List.of();
            return outcome.result;
        } catch (IncompatibleStateException e) {
            throw Call.failure(subject(), e);
        }
    }

    private String subject() {
        return state.subject(shared.name());
    }

    private Outcome exchange(ExchangeRequest request, Call call) throws IOException {
        Optional<Outcome> outcome = shared.underMutex(call, () -> {
            Optional<LimitFile> limit =
                    request.wants().isEmpty() ? limitForRelease() : LimitFile.read(shared.directory());
            return limit.isPresent() ? exchange(request, limit.get(), call) : exchangeWithout(request);
        });
        return outcome.orElseGet(() -> new Outcome(missing(request, Set.copyOf(request.giveBack())), false));
    }

    private ExchangeResult missing(ExchangeRequest request, Set<Hold> lost) {
        return result(lost, Collections.nCopies(request.wants().size(), Answer.MISSING), false);
    }

    /** Reads the limit where a damaged one must not keep anybody from giving back: then no slot counts as removed. */
    private Optional<LimitFile> limitForRelease() throws IOException {
        try {
            return LimitFile.read(shared.directory());
        } catch (IncompatibleStateException e) {
            LOG.debug("{}: giving back under a damaged limit", subject(), e);
            return Optional.of(new LimitFile(SlotTable.MAX_SLOTS, 0, ""));
        }
    }

    private Outcome exchange(ExchangeRequest request, LimitFile limit, Call call) throws IOException {
        int most = request.wants().isEmpty() ? 0 : limit.limit();
        SlotTable table = shared.slots(Math.max(most, highest(request.giveBack())));
        Set<Hold> given = among(request.giveBack(), table);
        EpochSource epochs = new EpochSource(state, shared.directory(), limit, call);
        SlotExchange exchange = new SlotExchange(table, limit.limit(), slots(given));
        List<Answer> answers = exchange.serve(request.wants(), epochs, request.epochs());
        if (!exchange.taken().isEmpty()) {
            own.enter(table.file());
            unanswered = List.copyOf(exchange.taken());
        }
        boolean freed = exchange.write(own.session(), settings.self());
        own.requireOpen(shared.name());
        return new Outcome(result(lost(request, given), answers, wake(freed)), freed);
    }

    /** Gives back where the semaphore does not exist any more, and clears up after the last holder. */
    private Outcome exchangeWithout(ExchangeRequest request) throws IOException {
        SlotTable table = shared.allSlots(highest(request.giveBack()));
        Set<Hold> given = among(request.giveBack(), table);
        new SlotExchange(table, 0, slots(given)).write(own.session(), settings.self());
        try {
            if (table.heldAbove(0) == 0) {
                shared.deleteDirectory();
            }
        } catch (IOException e) {
            // The slots are free already. The next client that uses the name removes the rest.
            LOG.debug("{}: something is left of the destroyed semaphore", subject(), e);
        }
        return new Outcome(missing(request, lost(request, given)), false);
    }

    /** Returns those of some holds that this session has. */
    private Set<Hold> among(Collection<Hold> holds, SlotTable table) {
        boolean lives = own.livesIn(table.file());
        return holds.stream()
                .filter(hold -> lives && table.has(hold, own.session()))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** Returns what this session has. */
    private List<Hold> all() {
        LockFile table = shared.table();
        try {
            return table != null && own.livesIn(table)
                    ? SlotTable.readAll(table, 0).holdsOf(own.session())
                    : List.of();
        } catch (IOException e) {
            throw Call.failure(subject(), e);
        }
    }

    private static Set<Hold> lost(ExchangeRequest request, Set<Hold> given) {
        Set<Hold> lost = new HashSet<>(request.giveBack());
        lost.removeAll(given);
        return lost;
    }

    private static Set<Integer> slots(Set<Hold> holds) {
        return holds.stream().map(Hold::slot).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static int highest(Collection<Hold> holds) {
        return holds.stream().mapToInt(Hold::slot).max().orElse(0);
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
        Set<Hold> owed = new HashSet<>(request.giveBack());
        owed.addAll(unanswered);
        List<Hold> still = all().stream().filter(owed::contains).toList();
        ExchangeResult gaveBack = exchange(new ExchangeRequest(still, List.of(), 1, request.waiting()));
        List<Answer> answers = Collections.nCopies(request.wants().size(), Answer.NOT_DONE);
        return result(gaveBack.lost(), answers, gaveBack.othersWaiting());
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.absorb();
            int limit = limitForRelease().map(LimitFile::limit).orElse(0);
            Set<Hold> lost = new HashSet<>(holds);
            LockFile table = shared.table();
            if (table != null && table.isInPlace()) {
                lost.removeAll(among(holds, SlotTable.read(table, highest(holds))));
            } else if (table != null) {
                own.leave(table);
            }
            Set<Hold> retired = holds.stream()
                    .filter(hold -> hold.slot() > limit && !lost.contains(hold))
                    .collect(Collectors.toSet());
            return new Renewal(Deadline.NEVER, lost, retired);
        } catch (IOException e) {
            throw Call.failure(subject(), e);
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
        own.requireOpen(shared.name());
        Watch watch = () -> shared.removeWatcher(this, hint);
        try (Call call = Call.within(settings.timeout())) {
            shared.addWatcher(this, hint, call);
            return watch;
        } catch (IOException e) {
            watch.close();
            throw Call.failure(subject(), e);
        }
    }

    @Override
    public void close() {
        try {
            List<Hold> rest = all();
            if (!rest.isEmpty()) {
                exchange(new ExchangeRequest(rest, List.of(), 1, false));
            }
        } catch (SemaphoreException e) {
            LOG.debug("{}: closing without giving back", subject(), e);
        } finally {
            abort();
        }
    }

    @Override
    public void abort() {
        if (own.end()) {
            state.release(shared);
        }
    }
}
