package io.github.distributedsemaphore;

/** A semaphore of this name exists with another limit. Nothing was changed. */
public final class LimitConflictException extends SemaphoreException {
    private static final long serialVersionUID = 1L;

    /** The limit that is stored. */
    private final int found;
    /** The limit that was asked for. */
    private final int requested;

    /**
     * Creates it.
     *
     * @param name the semaphore
     * @param found the limit it has
     * @param requested the limit that was asked for
     */
    public LimitConflictException(String name, int found, int requested) {
        super(
                "Semaphore '" + name + "' exists with limit " + found + ", not " + requested
                        + ": ask for that limit, or resize the semaphore",
                null,
                name);
        this.found = found;
        this.requested = requested;
    }

    private LimitConflictException(String message, LimitConflictException cause) {
        super(message, cause);
        this.found = cause.found;
        this.requested = cause.requested;
    }

    /**
     * Returns the limit that is stored.
     *
     * @return at least 1
     */
    public int found() {
        return found;
    }

    /**
     * Returns the limit that was asked for.
     *
     * @return at least 1
     */
    public int requested() {
        return requested;
    }

    @Override
    public boolean isRetryable() {
        return false;
    }

    @Override
    SemaphoreException copy(String message) {
        return new LimitConflictException(message, this);
    }
}
