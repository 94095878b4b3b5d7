package io.github.distributedsemaphore.redis.net;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The replies to a {@link CommandBatch}.
 *
 * @param all in the order of the commands
 * @param watch the index of WATCH; -1 if there is none
 * @param multi the index of MULTI; -1 if there is none
 * @param exec the index of EXEC; -1 if there is none
 * @param confirmed the index of WAIT; -1 if there is none
 * @param replicas what that asked for
 * @param heardNanos the local instant when the last had arrived, by {@code System.nanoTime}
 */
public record Replies(
        List<Reply> all, int watch, int multi, int exec, int confirmed, Replicas replicas, long heardNanos) {
    /**
     * The reply to a command; for one inside the transaction what it did, not that it was queued.
     *
     * @throws RedisErrorException if the server refused it
     */
    public Reply get(int index) {
        Reply reply = at(index);
        String error = reply.error();
        if (error != null) {
            throw new RedisErrorException(error);
        }
        return reply;
    }

    private Reply at(int index) {
        return index > multi && index < exec ? all.get(exec).list().get(index - multi - 1) : all.get(index);
    }

    /**
     * The error that MULTI was answered with although commands behind it were done: each for itself, and under no watch.
     *
     * @return null if that is not so
     */
    @Nullable
    String brokenTransaction() {
        String refusal = multi < 0 ? null : all.get(multi).error();
        if (refusal == null || all.subList(multi + 1, exec).stream().allMatch(reply -> reply.error() != null)) {
            return null;
        }
        return refusal;
    }

    /** Throws if the server refused to watch. A transaction that follows would be done unconditionally. */
    public void requireWatch() {
        if (watch >= 0) {
            get(watch);
        }
    }

    /** Throws if the server refused any of the commands. */
    public void requireAll() {
        for (int i = 0; i < all.size(); i++) {
            get(i);
        }
    }

    /**
     * Tells whether the transaction was done, the whole of it.
     *
     * @return false if it was not, because what it watched was touched
     * @throws RedisErrorException if the server refused it or a part of it; in the latter case the other parts are done
     */
    public boolean committed() {
        boolean executed = executed();
        if (executed) {
            requireAllDone();
        }
        return executed;
    }

    /**
     * Tells whether the transaction was executed. Parts of it may have failed.
     *
     * @return false if it was not, because what it watched was touched
     * @throws RedisErrorException if the server refused it
     */
    public boolean executed() {
        requireAccepted();
        return !all.get(exec).isNil();
    }

    /** Whether there was a transaction, and it was executed. */
    boolean isDone() {
        return exec >= 0 && all.get(exec).error() == null && !all.get(exec).isNil();
    }

    /** Throws if a part of the transaction failed; without one, if any command did. */
    public void requireAllDone() {
        if (exec < 0) {
            requireAll();
        }
        for (int i = multi + 1; i < exec; i++) {
            get(i);
        }
    }

    /** Throws if the transaction was refused as a whole: then nothing of it is done. */
    private void requireAccepted() {
        String refusal = all.get(exec).error();
        if (refusal == null) {
            return;
        }
        // "previous errors" says nothing, the command that was not queued does.
        for (Reply queued : all.subList(Math.max(0, multi), exec)) {
            if (queued.error() != null) {
                throw new RedisErrorException(queued.error());
            }
        }
        throw new RedisErrorException(refusal);
    }

    /** The error of a command, inside the transaction or not; null if it was done. */
    @Nullable
    public String error(int index) {
        return at(index).error();
    }

    /** Whether WAIT was answered, by fewer replicas than have to have what was written. */
    boolean isShortOfReplicas() {
        Reply have = confirmed < 0 ? Reply.NIL : all.get(confirmed);
        return !have.isNil() && have.error() == null && have.number() < replicas.needed();
    }

    /**
     * Looks whether enough replicas have what was written, if they were asked.
     *
     * @throws RedisErrorException if fewer have it
     */
    public void requireReplicas() {
        long have = confirmed < 0 ? 0 : get(confirmed).number();
        if (have < replicas.needed()) {
            throw new RedisErrorException(Replicas.SHORTAGE + " " + have + " of the " + replicas.needed()
                    + " replicas that the setting 'minReplicas' asks for have the change after "
                    + replicas.atMost().toMillis() + " ms");
        }
    }

    /** Whether a command that moves or finds one thing did so. */
    public boolean isOne(int index) {
        return get(index).number() == 1;
    }

    /** Whether any of several commands without a transaction was done. */
    boolean isPartlyDone() {
        return exec < 0 && all.stream().anyMatch(reply -> reply.error() == null);
    }
}
