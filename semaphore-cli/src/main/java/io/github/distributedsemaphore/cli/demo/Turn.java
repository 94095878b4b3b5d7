package io.github.distributedsemaphore.cli.demo;

/**
 * One permit as its worker saw it: surely held from the first instant to the last. The permit itself began before and
 * ended after, so that turns which overlap are permits that overlapped.
 *
 * @param worker who held it
 * @param slot the slot
 * @param epoch its epoch; -1 where the backend has none
 * @param from when the worker knew that it had it, in nanoseconds of the monotonic clock
 * @param until when the worker began to give it back, or was killed; {@link #OPEN} while neither has happened
 */
record Turn(int worker, int slot, long epoch, long from, long until) {
    static final long OPEN = Long.MAX_VALUE;

    boolean isOpen() {
        return until == OPEN;
    }

    Turn endedAt(long instant) {
        return new Turn(worker, slot, epoch, from, instant);
    }
}
