package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.Signals;
import io.github.distributedsemaphore.cli.common.Terminal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What happens to the signals that this process gets: while it waits for a slot the first one ends the wait and a second
 * the process; once the command runs they are the command's. Thread-safe.
 */
final class SignalRelay implements AutoCloseable {
    /** The numbers that Linux, macOS and the BSDs share. */
    private static final Map<String, Integer> NUMBERS = Map.of("HUP", 1, "INT", 2, "TERM", 15);

    /** Package-private for a test that holds it as a start does. */
    final ReentrantLock lock = new ReentrantLock();

    private final Thread waiter;
    private final BooleanSupplier isForeground;
    private final List<Signals.Registration> registrations = new ArrayList<>();
    private @Nullable String first;
    private volatile @Nullable ChildProcess child;
    private boolean wasSignalled;

    /**
     * Makes one; nothing is taken over yet.
     *
     * @param waiter the thread that waits for a slot, to be interrupted by a signal
     */
    SignalRelay(Thread waiter) {
        this(waiter, Terminal::isForeground);
    }

    SignalRelay(Thread waiter, BooleanSupplier isForeground) {
        this.waiter = waiter;
        this.isForeground = isForeground;
    }

    /** Takes the signals over until {@link #close}. Call once. */
    void install() {
        NUMBERS.keySet().forEach(name -> registrations.add(Signals.handle(name, () -> received(name))));
    }

    void received(String name) {
        // Before the lock, which a start keeps until the command is there.
        boolean mayBeMissed = child == null;
        lock.lock();
        try {
            ChildProcess running = child;
            if (running != null) {
                wasSignalled = true;
                relay(name, running, mayBeMissed);
            } else if (first == null) {
                first = name;
                waiter.interrupt();
            } else {
                Runtime.getRuntime().halt(ExitCodes.ofSignal(number(name)));
            }
        } finally {
            lock.unlock();
        }
    }

    private void relay(String name, ChildProcess child, boolean mayBeMissed) {
        // The terminal sends a Ctrl-C to the whole foreground group, so the command has it already; many programs
        // take a second one for "at once, without cleaning up". While it starts, two are better than none.
        if (mayBeMissed || !name.equals("INT") || !isForeground.getAsBoolean()) {
            child.signal(name);
        }
    }

    /**
     * Starts the command unless a signal came before.
     *
     * @return false if one did, and the command was not started
     */
    boolean startAndRelayTo(ChildProcess command) {
        lock.lock();
        try {
            if (first != null) {
                return false;
            }
            command.start();
            child = command;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The command has ended: from now on a signal interrupts the waiter again.
     *
     * @return true if a signal came while the command ran
     */
    boolean commandEnded() {
        lock.lock();
        try {
            child = null;
            return wasSignalled;
        } finally {
            lock.unlock();
        }
    }

    /** Returns what the process ends with because of the signal that came while no command was running. */
    int exitCodeOfFirst() {
        lock.lock();
        try {
            // No other signal interrupts the waiter: nobody else has it.
            return ExitCodes.ofSignal(number(first == null ? "INT" : first));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        registrations.forEach(Signals.Registration::close);
    }

    private static int number(String name) {
        return NUMBERS.getOrDefault(name, 0);
    }
}
