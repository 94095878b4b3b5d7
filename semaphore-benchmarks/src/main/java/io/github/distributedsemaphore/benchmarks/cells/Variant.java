package io.github.distributedsemaphore.benchmarks.cells;

/**
 * One of the things that are measured in turn: which library takes permits, and under which load.
 *
 * @param name what it is called in the report
 * @param mode who
 * @param threads in each process
 * @param limit permits of each semaphore
 * @param held how many of them others hold all the time
 * @param names how many semaphores the threads go through in turn
 * @param ownClients whether each thread has a client of its own, as if it were a process, where the mode knows such a thing
 * @param idleWatchers how many connections of idle clients watch the semaphore
 * @param holdMicros for how long each permit is held
 */
public record Variant(
        String name,
        Mode mode,
        int threads,
        int limit,
        int held,
        int names,
        boolean ownClients,
        int idleWatchers,
        long holdMicros) {

    public static Variant of(Mode mode, int threads, int limit) {
        return new Variant(mode.label(), mode, threads, limit, 0, 1, false, 0, 0);
    }

    Variant named(String other) {
        return new Variant(other, mode, threads, limit, held, names, ownClients, idleWatchers, holdMicros);
    }

    public Variant holding(long micros) {
        return new Variant(name, mode, threads, limit, held, names, ownClients, idleWatchers, micros);
    }

    Variant withOwnClients() {
        return new Variant(name, mode, threads, limit, held, names, true, idleWatchers, holdMicros);
    }

    public Variant besides(int heldByOthers, int watchers) {
        return new Variant(name, mode, threads, limit, heldByOthers, names, ownClients, watchers, holdMicros);
    }

    public Variant overNames(int count) {
        return new Variant(name, mode, threads, limit, held, count, ownClients, idleWatchers, holdMicros);
    }

    /** The name of a semaphore; no two variants share one. */
    public String semaphore(int index) {
        return "bench-" + name.replaceAll("[^a-z0-9]+", "-") + "-" + index;
    }
}
