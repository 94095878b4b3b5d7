package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One client's presence at one semaphore in a {@link CasStore}. Nothing is stored for it but what it holds. */
final class CasSession implements BackendSession {
    private static final Logger LOG = LoggerFactory.getLogger(CasSession.class);
    private static final SecureRandom RANDOM = new SecureRandom();

    /** Nobody calls a client that found no room to say that it waits. A slot may be free beside it for so long. */
    private static final Duration UNLISTED_LOOKS_AFTER = Duration.ofSeconds(1);

    private final CasBackend backend;
    private final String name;
    private final String id;

    /** What this session knew last: the next change is tried upon it, so that one request is enough where nobody else came. */
    private volatile CasBackend.@Nullable Seen seen;

    /** When the newest of what this session knew was sent. Guarded by this session. */
    private long newestSent = System.nanoTime();

    /** The change of unknown outcome; used by exchanges and the close only, of which there is one at a time. */
    private @Nullable Plan unknown;

    /** Whether the store says that this client waits. */
    private volatile boolean listed;

    private volatile boolean ended;
    private volatile boolean used;

    CasSession(CasBackend backend, String name) {
        this.backend = backend;
        this.name = name;
        byte[] bytes = new byte[12];
        RANDOM.nextBytes(bytes);
        this.id = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** What an exchange does to a row; done again upon each row that is tried. */
    private final class Plan {
        private final ExchangeRequest request;
        private final Set<Hold> lost = new HashSet<>();
        private final List<Answer> answers = new ArrayList<>();

        /** Whether a caller was refused that goes on waiting. */
        private boolean waits;

        Plan(ExchangeRequest request) {
            this.request = request;
        }

        void apply(CasRow row) {
            lost.clear();
            answers.clear();
            for (Hold hold : request.giveBack()) {
                if (!row.giveBack(id, hold)) {
                    lost.add(hold);
                }
            }
            boolean again = !request.giveBack().isEmpty();
            if (again) {
                // Whoever waits comes before callers of this client that wait.
                row.call();
            }
            waits = false;
            for (int i = 0; i < request.wants().size(); i++) {
                boolean goesOn = request.waits(i);
                int permits = request.wants().get(i);
                Answer answer = row.grant(id, backend.settings.self(), permits, request.epochs(), goesOn);
                answers.add(answer);
                if (goesOn && answer == Answer.FULL && !waits) {
                    waits = true;
                    row.waits(id, permits, again);
                }
            }
        }

        /**
         * Finds out which grants of a plan of unknown outcome were made, and gives back what that plan was to give back. It always
         * changes the row: a request that is still on its way then finds another version, and does nothing.
         */
        void settle(CasRow row, Plan former) {
            lost.clear();
            answers.clear();
            lost.addAll(former.lost);
            for (Hold hold : request.giveBack()) {
                if (row.giveBack(id, hold)) {
                    // It was held until now. That plan was made upon an older row.
                    lost.remove(hold);
                }
            }
            for (int i = 0; i < request.wants().size(); i++) {
                answers.add(i < former.answers.size() ? settled(row, former.answers.get(i)) : Answer.NOT_DONE);
            }
            row.touch();
        }

        private Answer settled(CasRow row, Answer planned) {
            if (!(planned instanceof Answer.Granted granted)) {
                return Answer.NOT_DONE;
            }
            // A slot that was removed meanwhile is not granted any more.
            boolean all = granted.holds().stream().allMatch(hold -> row.state(id, hold) == HoldState.HELD);
            for (Hold hold : granted.holds()) {
                Object unused = all ? row.extend(id, hold) : row.giveBack(id, hold);
            }
            return all ? granted : Answer.NOT_DONE;
        }
    }

    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        used = true;
        Plan plan = new Plan(request);
        CasBackend.Seen known = seen;
        seen = null;
        return done(plan, known, null);
    }

    @Override
    public ExchangeResult resolve(ExchangeRequest request) {
        return done(new Plan(request), null, unknown == null ? new Plan(request) : unknown);
    }

    private ExchangeResult done(Plan plan, CasBackend.@Nullable Seen known, @Nullable Plan former) {
        CasBackend.Outcome outcome;
        try {
            outcome = change(known, backend.settings.timeout(), row -> {
                if (!plan.request.waiting()) {
                    row.leave(id);
                }
                if (former == null) {
                    plan.apply(row);
                } else {
                    plan.settle(row, former);
                }
            });
        } catch (RuntimeException | Error e) {
            if (!(e instanceof SemaphoreException) || e instanceof OutcomeUnknownException) {
                // A plan that settles another one leaves that one unknown: what was granted then may be found yet.
                unknown = former == null ? plan : former;
            }
            throw e;
        }
        unknown = null;
        listed = outcome.row().isWaiting(id);
        return ExchangeResult.of(List.copyOf(plan.answers))
                .lost(plan.lost)
                .validUntil(outcome.validUntil())
                .recheck(backend.recheck(outcome).earlier(nextLook(plan)))
                .othersWaiting(outcome.row().othersWait(id))
                .sent(outcome.seen().sent())
                .build();
    }

    /**
     * When a client that waits looks again, however seldom it asks of its own accord: nobody calls it after the end of its line, or if
     * there was no room for one. A look repeats a line that is older than half of its time, so that there is time for one more.
     */
    private Deadline nextLook(Plan plan) {
        if (listed) {
            return Deadline.after(System.nanoTime(), Duration.ofMillis(CasRow.WAITS_MILLIS * 3 / 8));
        }
        return plan.waits ? Deadline.after(System.nanoTime(), UNLISTED_LOOKS_AFTER) : Deadline.NEVER;
    }

    private CasBackend.Outcome change(CasBackend.@Nullable Seen known, Duration time, Consumer<CasRow> body) {
        if (ended) {
            throw new BackendUnavailableException("This session was aborted", null, name);
        }
        try {
            CasBackend.Outcome outcome = backend.change(name, known, Deadline.after(System.nanoTime(), time), body);
            remember(outcome.seen());
            return outcome;
        } catch (RuntimeException | Error e) {
            // The server that answers next may be another one.
            seen = null;
            throw e;
        }
    }

    /** An exchange may overtake a renewal, which then knows less: it would take what was granted meanwhile for lost. */
    private synchronized void remember(CasBackend.Seen last) {
        if (last.sent() - newestSent >= 0) {
            newestSent = last.sent();
            seen = last;
        }
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        Map<Hold, HoldState> states = new HashMap<>();
        CasBackend.Outcome outcome = change(
                seen,
                backend.settings.renewalTimeout(),
                row -> holds.forEach(hold -> states.put(hold, row.extend(id, hold))));
        return new Renewal(outcome.validUntil(), in(states, HoldState.LOST), in(states, HoldState.RETIRED));
    }

    private static Set<Hold> in(Map<Hold, HoldState> states, HoldState state) {
        return states.keySet().stream()
                .filter(hold -> states.get(hold) == state)
                .collect(Collectors.toSet());
    }

    @Override
    public Duration renewEvery() {
        return backend.settings.renewEvery();
    }

    @Override
    public HoldState check(Hold hold) {
        return backend.look(name).row().state(id, hold);
    }

    @Override
    public Watch watch(Runnable hint) {
        Watch watch = backend.store.watch(name, sessions -> {
            if (sessions.equals(CasStore.EVERYBODY) || sessions.contains(id)) {
                seen = null;
                hint.run();
            }
        });
        return () -> {
            if (watch != null) {
                watch.close();
            }
            if (listed) {
                leave(row -> row.leave(id));
            }
        };
    }

    @Override
    public boolean servesInOrder() {
        return true;
    }

    /** What cannot be done now ends by itself. */
    private void leave(Consumer<CasRow> leaving) {
        try {
            CasBackend.Outcome unused = change(null, backend.settings.timeout(), leaving);
            listed = false;
        } catch (RuntimeException e) {
            LOG.info("Semaphore '{}' could not be left in order, leases end by themselves: {}", name, e.toString());
        }
    }

    @Override
    public void close() {
        if (used && !ended) {
            leave(row -> {
                row.giveBackAll(id);
                if (unknown != null) {
                    // A request that is still on its way would take a slot for nobody.
                    row.touch();
                }
            });
        }
        ended = true;
    }

    @Override
    public void abort() {
        ended = true;
    }
}
