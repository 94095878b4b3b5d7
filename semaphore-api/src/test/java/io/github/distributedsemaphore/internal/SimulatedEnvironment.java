package io.github.distributedsemaphore.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Time and threads of a simulation: many threads of which one runs at a time, until it parks or comes to a checkpoint, where
 * a seeded choice says which thread goes on. The clock stands still while a thread runs and jumps to the next event when none can, or,
 * now and then, although somebody could. So a seed is a schedule, and a failing one can be played again.
 */
final class SimulatedEnvironment implements Environment {
    private static final ThreadLocal<Actor> SELF = new ThreadLocal<>();

    private static final ExecutorService THREADS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "simulated");
        thread.setDaemon(true);
        return thread;
    });

    private final Random random;
    private final List<Actor> actors = new ArrayList<>();
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final Semaphore finished = new Semaphore(0);

    private volatile boolean running;
    private volatile Throwable failure;
    private boolean jumpy = true;
    private long now;
    private long sequence;
    private long switches;

    SimulatedEnvironment(long seed) {
        this.random = new Random(seed);
        // Any start will do for a monotonic clock, so also one close to the overflow.
        this.now = random.nextBoolean() ? random.nextLong() : Long.MAX_VALUE - random.nextInt(1_000_000_000);
    }

    /** Starts an actor; before {@link #run} or from another actor. */
    @Override
    public void execute(Runnable task) {
        requireGoingOn();
        Actor actor = new Actor(task);
        actors.add(actor);
        THREADS.execute(actor);
    }

    /** Runs until every actor has ended. */
    void run() throws Throwable {
        running = true;
        Actor first = next();
        if (first != null) {
            first.turn.release();
            if (!finished.tryAcquire(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the simulation hangs outside of its own parking: " + actors);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** From now on the clock stands still while anybody can run. */
    void calm() {
        jumpy = false;
    }

    long switches() {
        return switches;
    }

    Random chance() {
        return random;
    }

    /** Lets an actor sleep; an interrupt does not wake it and is kept. */
    void sleep(long nanos) {
        long end = now + nanos;
        boolean interrupted = false;
        while (end - now > 0) {
            park(this, end - now);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public long nanoTime() {
        return now;
    }

    @Override
    public Timer schedule(Runnable task, long delayNanos) {
        Event event = new Event(now + Math.max(0, delayNanos), sequence++, () -> execute(task));
        events.add(event);
        return () -> events.remove(event);
    }

    @Override
    public void park(Object blocker, long nanos) {
        requireGoingOn();
        Actor actor = SELF.get();
        if (actor.permit || actor.thread.isInterrupted() || nanos <= 0) {
            actor.permit = false;
            checkpoint();
            return;
        }
        actor.parked = true;
        if (nanos != Long.MAX_VALUE) {
            long round = ++actor.parkings;
            events.add(new Event(now + nanos, sequence++, () -> {
                if (actor.parkings == round) {
                    actor.parked = false;
                }
            }));
        } else {
            actor.parkings++;
        }
        switchFrom(actor);
        actor.permit = false;
    }

    @Override
    public void unpark(Thread thread) {
        for (Actor actor : actors) {
            if (actor.thread == thread) {
                actor.permit = true;
                actor.parked = false;
            }
        }
    }

    /** Interrupts the thread of an actor. */
    void interrupt(Thread thread) {
        thread.interrupt();
        for (Actor actor : actors) {
            if (actor.thread == thread) {
                actor.parked = false;
            }
        }
    }

    @Override
    public long random(long bound) {
        return Math.floorMod(random.nextLong(), bound);
    }

    @Override
    public void checkpoint() {
        requireGoingOn();
        Actor actor = SELF.get();
        // Half of the places are passed without a switch: as many schedules differ, and it is quicker.
        if (actor != null && random.nextBoolean()) {
            switchFrom(actor);
        }
    }

    @Override
    public void close() {
        // Its threads end with their tasks.
    }

    private void switchFrom(Actor actor) {
        Actor next = next();
        if (next == actor) {
            return;
        }
        if (next != null) {
            switches++;
            next.turn.release();
        }
        actor.turn.acquireUninterruptibly();
        requireGoingOn();
    }

    /** Once it has failed every step ends its thread, also when the engine takes that for an error of the backend. */
    private void requireGoingOn() {
        if (failure != null) {
            throw new Abandoned();
        }
    }

    private Actor next() {
        List<Actor> able = new ArrayList<>();
        while (!actors.isEmpty()) {
            for (Actor actor : actors) {
                if (!actor.parked) {
                    able.add(actor);
                }
            }
            boolean jump = able.isEmpty() || (jumpy && random.nextInt(8) == 0);
            if (!jump) {
                return able.get(random.nextInt(able.size()));
            }
            if (events.isEmpty()) {
                if (able.isEmpty()) {
                    fail(new AssertionError("everybody waits and nothing will happen: " + actors));
                    return null;
                }
                return able.get(random.nextInt(able.size()));
            }
            Event event = events.remove();
            now = event.at - now > 0 ? event.at : now;
            event.action.run();
            able.clear();
        }
        return null;
    }

    private void fail(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
        for (Actor actor : actors) {
            actor.turn.release();
        }
        finished.release();
    }

    /** Ends the threads of a simulation that has failed. */
    private static final class Abandoned extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** Compared by the difference, since the clock may overflow. */
    private record Event(long at, long sequence, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            long difference = at - other.at;
            return difference != 0 ? Long.signum(difference) : Long.compare(sequence, other.sequence);
        }
    }

    private final class Actor implements Runnable {
        private final Runnable task;
        private final Semaphore turn = new Semaphore(0);
        private volatile Thread thread;
        private boolean parked;
        private boolean permit;
        private long parkings;

        Actor(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            thread = Thread.currentThread();
            turn.acquireUninterruptibly();
            SELF.set(this);
            try {
                if (failure == null) {
                    task.run();
                }
            } catch (Abandoned e) {
                // The reason is known.
            } catch (Throwable e) {
                fail(e);
            } finally {
                SELF.remove();
                end();
            }
        }

        private void end() {
            // A pooled thread keeps no interrupt for its next task.
            Thread.interrupted();
            if (failure != null || !running) {
                return;
            }
            actors.remove(this);
            Actor next = next();
            if (next != null) {
                next.turn.release();
            } else if (failure == null) {
                finished.release();
            }
        }

        @Override
        public String toString() {
            return (parked ? "parked " : "able ") + (thread == null ? "" : List.of(thread.getStackTrace()));
        }
    }
}
