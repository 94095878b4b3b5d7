package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The state that all clients share, with its own clock. Nothing runs by itself: the end of a lease is found at the next
 * operation of whomever. Thread-safe, by one lock; hints and listeners are called without it.
 */
public class MemoryServer extends SessionTable {
    /** What a server has unless told otherwise. */
    public static final Set<Capability> ALL = Set.copyOf(EnumSet.of(
            Capability.CRASH_RELEASE,
            Capability.LEASE,
            Capability.FENCING,
            Capability.DURABLE_FENCING,
            Capability.LISTING,
            Capability.ATOMIC_ADMINISTRATION));

    /** Makes a server with a lease of ten seconds, the real clock and everything it can. */
    public MemoryServer() {
        this(System::nanoTime, Duration.ofSeconds(10), ALL, Runnable::run);
    }

    /**
     * Makes a server.
     *
     * @param nanoTime its clock, on the scale of {@link System#nanoTime}
     * @param lease for how long a session lives without a renewal
     * @param capabilities what it can and declares; without {@link Capability#LEASE} holds end with their client only,
     *     without {@link Capability#CRASH_RELEASE} as well not even then
     * @param hints runs hints and listeners
     */
    public MemoryServer(LongSupplier nanoTime, Duration lease, Set<Capability> capabilities, Executor hints) {
        super(nanoTime, lease, capabilities, hints);
    }

    // What clients ask for

    protected ServerSession open(MemoryBackend client, String name, HolderInfo holder, SessionListener listener) {
        return locked(() -> {
            ServerSession session = new ServerSession(client, name, holder, listener);
            sessions.add(session);
            return session;
        });
    }

    protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
        return locked(() -> {
            requireLive(session);
            if (sequence <= session.lastSequence) {
                throw new BackendUnavailableException(
                        "The client gave up this request to '" + session.name + "'", null);
            }
            session.leaseEnd = leaseFrom(now());
            session.waiting = request.waiting();
            MemorySemaphore semaphore = semaphore(session.name);
            Set<Hold> lost = giveBack(session, request.giveBack());
            return remember(session, sequence, lost, grantAll(session, semaphore, request));
        });
    }

    protected List<Answer> grantAll(ServerSession session, MemorySemaphore semaphore, ExchangeRequest request) {
        List<Answer> answers = new ArrayList<>();
        for (int permits : request.wants()) {
            answers.add(semaphore.grant(session, permits, request.epochs()));
        }
        return answers;
    }

    /** Answers for an exchange whose answer was lost, or takes care that it is not done any more. */
    protected ExchangeResult resolve(ServerSession session, long sequence, ExchangeRequest request) {
        return locked(() -> {
            ExchangeResult known = session.lastResult;
            if (known == null || session.lastSequence < sequence) {
                Set<Hold> lost = giveBack(session, request.giveBack());
                return remember(session, sequence, lost, notDone(request));
            }
            session.leaseEnd = leaseFrom(now());
            List<Answer> answers = new ArrayList<>();
            for (Answer answer : known.answers()) {
                answers.add(stillGranted(session, answer));
            }
            return remember(session, sequence, known.lost(), answers);
        });
    }

    private Answer stillGranted(ServerSession session, Answer answer) {
        if (!(answer instanceof Answer.Granted granted)) {
            return answer;
        }
        MemorySemaphore semaphore = semaphore(session.name);
        if (granted.holds().stream().allMatch(hold -> semaphore.isHeld(session, hold))) {
            return granted;
        }
        giveBack(session, granted.holds());
        return Answer.FULL;
    }

    private static List<Answer> notDone(ExchangeRequest request) {
        return request.wants().stream().map(permits -> Answer.NOT_DONE).toList();
    }

    private Set<Hold> giveBack(ServerSession session, Collection<Hold> holds) {
        Set<Hold> lost = new HashSet<>();
        for (Hold hold : holds) {
            if (!semaphore(session.name).giveBack(session, hold)) {
                lost.add(hold);
            }
        }
        if (lost.size() < holds.size()) {
            wake(session.name, session);
        }
        return lost;
    }

    private ExchangeResult remember(ServerSession session, long sequence, Set<Hold> lost, List<Answer> answers) {
        boolean others = sessions.stream()
                .anyMatch(other -> other != session && other.name.equals(session.name) && other.waiting);
        Deadline recheck = semaphore(session.name).firstLeaseEnd(session);
        session.lastSequence = sequence;
        // The client counts the validity itself, from before it sent the request.
        session.lastResult = ExchangeResult.of(answers)
                .lost(lost)
                .recheck(recheck)
                .othersWaiting(others)
                .build();
        return session.lastResult;
    }

    protected Renewal renew(ServerSession session, Collection<Hold> holds) {
        return locked(() -> {
            session.leaseEnd = leaseFrom(now());
            Set<Hold> lost = new HashSet<>();
            Set<Hold> retired = new HashSet<>();
            for (Hold hold : holds) {
                HoldState state = semaphore(session.name).state(session, hold);
                if (state == HoldState.LOST) {
                    lost.add(hold);
                } else if (state == HoldState.RETIRED) {
                    retired.add(hold);
                }
            }
            return new Renewal(Deadline.NEVER, lost, retired);
        });
    }

    protected HoldState check(ServerSession session, Hold hold) {
        return locked(() -> semaphore(session.name).state(session, hold));
    }

    protected void watch(ServerSession session, @Nullable Runnable hint) {
        locked(() -> {
            session.hint = hint;
            session.waiting &= hint != null;
            return null;
        });
    }

    /** Ends a session in order. */
    protected void close(ServerSession session) {
        locked(() -> {
            end(session);
            return null;
        });
    }

    // What administrators ask for

    protected boolean create(String name, int limit) {
        return locked(() -> {
            MemorySemaphore semaphore = semaphore(name);
            if (semaphore.limit != 0 && semaphore.limit != limit) {
                throw new LimitConflictException(name, semaphore.limit, limit);
            }
            boolean created = semaphore.limit == 0;
            semaphore.limit = limit;
            return created;
        });
    }

    protected Optional<SemaphoreDescription> describe(String name) {
        return locked(() -> semaphore(name).limit == 0
                ? Optional.empty()
                : Optional.of(semaphore(name).describe(name)));
    }

    protected List<String> names() {
        return locked(() -> semaphores.entrySet().stream()
                .filter(entry -> entry.getValue().limit != 0)
                .map(Map.Entry::getKey)
                .toList());
    }

    protected void resize(String name, int limit) {
        locked(() -> {
            if (semaphore(name).limit == 0) {
                throw new NoSuchSemaphoreException("There is no semaphore '" + name + "' to resize: create it");
            }
            semaphore(name).limit = limit;
            wake(name, null);
            return null;
        });
    }

    protected boolean destroy(String name) {
        return locked(() -> {
            boolean existed = semaphore(name).limit != 0;
            semaphore(name).limit = 0;
            wake(name, null);
            return existed;
        });
    }

    protected int retiredHolders(String name) {
        return locked(() -> semaphore(name).retiredHolders());
    }
}
