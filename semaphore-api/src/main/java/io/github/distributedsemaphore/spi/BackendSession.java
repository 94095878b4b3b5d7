package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One client's presence at one semaphore: what takes slots, keeps them alive and gives them back.
 *
 * <p>The engine calls {@link #exchange}, {@link #start}, {@link #resolve}, {@link #watch}, {@link Watch#close} and {@link #close}
 * one at a time, each after the one before has ended, though on different threads; an exchange that was {@linkplain #start
 * started} ends when its stage completes. {@link #renew}, {@link #check} and {@link #abort} may come at any time, and after {@code abort} so may
 * {@code Watch#close}.
 *
 * <p>No caller of the application waits for these calls longer than it wants: the engine releases a caller that has a time limit,
 * or may be interrupted, while the call goes on. Still every call returns or throws within a third of the {@linkplain
 * io.github.distributedsemaphore.guarantees.Guarantees#callBound operation bound}, because a call that does not wait for a permit may have to
 * wait for an exchange that is under way, for its own, and for finding out what became of it. Where holds have leases, several
 * unanswered requests have to fit between {@link #renewEvery} and the end of a lease. A calling thread may be interrupted: a
 * session neither gives up because of an interrupt nor swallows it.
 *
 * <p>Besides the exceptions named at the methods, all of them may throw {@link
 * io.github.distributedsemaphore.BackendAccessException} and {@link
 * io.github.distributedsemaphore.IncompatibleStateException}, and then have changed nothing. Any other exception counts as an
 * unknown outcome.
 */
public interface BackendSession extends AutoCloseable {
    /**
     * Gives holds back and takes new ones, in as few round trips as the backend allows.
     *
     * <p>Gives back first. Then serves the wants in their order: grants each that fits into what is free, whole, and
     * refuses the others. A slot that is given back here may be granted here again, with a higher epoch. Never grants a
     * slot that another hold of this session has: a session is many holders, not one. Giving back a hold that is not
     * held any more leaves those of others alone, and is reported in the result; giving back works also when the semaphore is
     * missing. A session that held nothing may have lapsed meanwhile: then it starts afresh.
     *
     * @param request what to do
     * @return what was done
     * @throws BackendUnavailableException if certainly nothing was done
     * @throws OutcomeUnknownException if it may have been done. The engine then calls {@link #resolve} with the same
     *     request until that answers, before any other exchange
     */
    ExchangeResult exchange(ExchangeRequest request);

    /**
     * Starts an exchange on a thread that must not wait: sends the request and returns. An acquire that meets nobody then costs
     * no change of threads. For a backend whose client library can do that; others leave it as it is.
     *
     * <p>The stage completes as {@link #exchange} returns or throws, on any thread. What still has to wait, such as another
     * round trip, goes to {@link SessionListener#execute}.
     *
     * @param request as for {@link #exchange}
     * @return null if it cannot be started without waiting, for instance for a connection: nothing was done, and the engine
     *     calls {@link #exchange} on a thread that may wait
     */
    default @Nullable CompletionStage<ExchangeResult> start(ExchangeRequest request) {
        return null;
    }

    /**
     * Finds out what an exchange with unknown outcome did. When this returns, the request is not done any more if it was not
     * done before.
     *
     * @param request the request of that exchange
     * @return what it did. A want that was granted is answered so, with holds that are held now; one that was not is {@link
     *     Answer#NOT_DONE}, or any other answer if the adapter repeated the exchange. Holds it did not give back are given back
     *     now. {@code validUntil} counts from before the request of this call, and {@code sent} is not looked at
     * @throws BackendUnavailableException if that is not known yet; the engine asks again after a while
     * @throws OutcomeUnknownException likewise
     */
    default ExchangeResult resolve(ExchangeRequest request) {
        throw new IllegalStateException("this session has no unknown outcomes");
    }

    /**
     * Shows the backend that this client is alive, and finds out which of its holds are still held. Called about every
     * {@link #renewEvery} while the session has holds.
     *
     * @param holds all holds of the session
     * @return what was found
     * @throws BackendUnavailableException if the backend did not answer; the engine tries again
     * @throws OutcomeUnknownException likewise
     */
    Renewal renew(Collection<Hold> holds);

    /**
     * Returns how often the engine has to renew.
     *
     * @return the interval; several of them fit into the time for which a renewal is valid
     */
    Duration renewEvery();

    /**
     * Asks the backend about one hold, now, by a round trip that the backend answers from its own truth.
     *
     * @param hold a hold of this session
     * @return what it says
     * @throws BackendUnavailableException if the backend did not answer
     */
    HoldState check(Hold hold);

    /**
     * Starts to watch for slots that may have become free, or for the end of the semaphore. Hints may be lost, late or
     * needless: the engine also asks on a timer. At most one watch at a time; the engine watches only while somebody
     * waits, and closing the watch gives up the client's place in a queue of clients, if the backend has one.
     *
     * @param hint to be called from any thread of the backend; returns at once
     * @return closes the watch; does not throw
     * @throws BackendUnavailableException if watching is not possible now; the engine goes on with its timer, and tries
     *     again within a second
     */
    Watch watch(Runnable hint);

    /**
     * Tells whether clients that wait are served in the order of their coming, also if one of them gives a slot back and wants
     * one in the same exchange. Where they are not, the engine leaves other clients a turn before it asks again.
     *
     * @return whether the backend keeps the order
     */
    default boolean servesInOrder() {
        return false;
    }

    /**
     * Ends the session in order: the backend frees what is left of it at once. Idempotent; does not throw.
     */
    @Override
    void close();

    /**
     * Drops the session without a word to the backend, as if the process had died. Does not block. Whatever it held is
     * free within the detection bound.
     */
    void abort();

    /** Ends a watch. */
    @FunctionalInterface
    interface Watch extends AutoCloseable {
        /** Ends it; idempotent, does not throw. */
        @Override
        void close();
    }
}
