package io.github.distributedsemaphore.tck.agent;

/** What a call in an agent threw, as a copy. */
public final class AgentException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The name of the class over there. */
    private final String type;

    AgentException(String type, String message) {
        super(type + ": " + message);
        this.type = type;
    }

    /**
     * Tells what the agent's exception was.
     *
     * @param exception an exception class
     * @return true if it was exactly of that class
     */
    public boolean was(Class<? extends Throwable> exception) {
        return type.equals(exception.getName());
    }
}
