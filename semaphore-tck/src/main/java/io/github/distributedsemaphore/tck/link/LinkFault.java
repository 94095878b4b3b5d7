package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Something that is wrong with a {@link TcpProxy} from its making until it is closed. It counts how often it took effect:
 * closing one that never did throws, so that a test cannot pass by a fault that did not happen. Thread-safe.
 */
public abstract class LinkFault implements AutoCloseable {
    private final TcpProxy proxy;
    private final String what;
    private final AtomicLong strikes = new AtomicLong();
    private volatile boolean healed;

    LinkFault(TcpProxy proxy, String what) {
        this.proxy = proxy;
        this.what = what;
    }

    /**
     * Returns how often the fault took effect so far.
     *
     * @return a number of connections, of pieces of data or of answers, as the fault has it
     */
    public final long strikes() {
        return strikes.get();
    }

    /**
     * Ends the fault without asking whether it took effect.
     *
     * @return how often it did
     */
    public final long heal() {
        if (!healed) {
            healed = true;
            proxy.remove(this);
            afterwards();
        }
        return strikes();
    }

    /**
     * Ends the fault.
     *
     * @throws FaultMissedException if it never took effect
     */
    @Override
    public final void close() {
        if (heal() == 0) {
            throw new FaultMissedException("the fault '" + what + "' had no effect on " + proxy.carried());
        }
    }

    @Override
    public final String toString() {
        return what + ", " + strikes() + " times";
    }

    final void strike() {
        strikes.incrementAndGet();
    }

    final boolean isHealed() {
        return healed;
    }

    final TcpProxy proxy() {
        return proxy;
    }

    /** Whether a new connection is let through. */
    boolean admits() {
        return true;
    }

    /**
     * Is given bytes on their way, in order, by the thread that carries them; may keep that thread.
     *
     * @return the bytes that go on; null for none
     */
    byte @Nullable [] carry(Line line, Direction direction, byte[] bytes) throws IOException {
        return bytes;
    }

    /** Hears of the end of a stream before that is passed on; may keep the thread. */
    void beforeEnd(Line line, Direction direction) {}

    /** Sets right what cannot simply go on. */
    void afterwards() {}
}
