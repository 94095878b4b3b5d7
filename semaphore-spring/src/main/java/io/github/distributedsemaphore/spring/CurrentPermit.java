package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The permit under which the calling thread runs a {@link WithPermit} method.
 *
 * <pre>{@code
 * @WithPermit("exports")
 * public void export() {
 *     store.write(pages, CurrentPermit.get().fence());
 * }
 * }</pre>
 *
 * <p>Known to the thread that the method was called on, until the method returns: a method that returns a future or a {@code Mono} asks
 * before it returns and keeps the answer. No I/O, does not block.
 */
public final class CurrentPermit {
    private static final ThreadLocal<@Nullable Frame> INNERMOST = new ThreadLocal<>();

    private CurrentPermit() {}

    /** One call on a thread's stack. */
    private record Frame(
            DistributedSemaphore semaphore,
            PermitGroup permits,
            @Nullable Frame outer) {}

    /** What runs under permits. */
    @FunctionalInterface
    interface Call {
        @Nullable
        Object run() throws Throwable;
    }

    /**
     * Returns the permit of the innermost {@link WithPermit} call; of several the one with the lowest slot.
     *
     * @return the permit
     * @throws IllegalStateException if the thread is in no such call, for instance because the method was called within its own object
     */
    public static Permit get() {
        return group(null).permits().get(0);
    }

    /**
     * Makes sure that the calling thread runs under a permit of a semaphore, and returns it.
     *
     * @param semaphoreName the name of the semaphore, placeholders and expressions replaced
     * @return the permit of the innermost call for it; of several the one with the lowest slot
     * @throws IllegalStateException if the thread is in no call for it, for instance because the method was called within its own object
     */
    public static Permit require(String semaphoreName) {
        return group(semaphoreName).permits().get(0);
    }

    /**
     * Returns all permits of the innermost {@link WithPermit} call, for a call that takes several.
     *
     * @return an unmodifiable list in ascending order of slots, never empty
     * @throws IllegalStateException as for {@link #get}
     */
    public static List<Permit> all() {
        return group(null).permits();
    }

    private static PermitGroup group(@Nullable String name) {
        for (Frame frame = INNERMOST.get(); frame != null; frame = frame.outer) {
            if (name == null || frame.semaphore.name().equals(name)) {
                return frame.permits;
            }
        }
        throw new IllegalStateException("This thread runs under no permit" + (name == null ? "" : " of '" + name + "'")
                + ": is the @WithPermit method called through its bean, and not from within the same object?");
    }

    /** Refuses a second call for the same semaphore on this thread. */
    static void refuseNested(DistributedSemaphore semaphore) {
        for (Frame frame = INNERMOST.get(); frame != null; frame = frame.outer) {
            if (frame.semaphore == semaphore) {
                throw new IllegalStateException("This thread runs under a permit of '" + semaphore.name()
                        + "' already: a @WithPermit call within another one would wait for a second slot");
            }
        }
    }

    static @Nullable Object during(DistributedSemaphore semaphore, PermitGroup permits, Call call) throws Throwable {
        Frame outer = INNERMOST.get();
        INNERMOST.set(new Frame(semaphore, permits, outer));
        try {
            return call.run();
        } finally {
            if (outer == null) {
                INNERMOST.remove();
            } else {
                INNERMOST.set(outer);
            }
        }
    }
}
