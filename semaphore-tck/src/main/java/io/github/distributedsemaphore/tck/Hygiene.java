package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.Capability;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Looks after each test whether it left something behind: threads, names, things at the backend. */
final class Hygiene {
    /** Threads of the JVM, of JUnit and of the kit, which come and go on their own. */
    private static final List<String> OWN_THREADS = List.of(
            "tck-agent",
            "tck-proxy",
            "process reaper",
            "ForkJoinPool",
            "junit",
            "surefire",
            "Attach Listener",
            "Common-Cleaner",
            "VirtualThread-");

    private static final Duration GRACE = Duration.ofSeconds(5);

    private final TckRun run;
    private final Set<Long> knownThreads;
    private final Set<String> knownThings;

    Hygiene(TckRun run) {
        this.run = run;
        this.knownThreads = Thread.getAllStackTraces().keySet().stream()
                .map(Hygiene::id)
                .collect(Collectors.toCollection(HashSet::new));
        this.knownThings = new TreeSet<>(run.harness().leftovers().things());
    }

    /** What one test is blamed for no other is. */
    synchronized void assertClean(TckTiming timing, Set<String> destroyed) {
        Duration soon = timing.patience().compareTo(GRACE) < 0
                ? timing.patience()
                : timing.settings().scaled(GRACE);
        Duration detected = timing.settings().scaled(run.guarantees().detectionMax());
        Failures failures = new Failures();
        failures.collect(
                () -> timing.awaitEmpty("threads are left after the clients were closed", soon, this::newThreads));
        failures.collect(() -> timing.awaitEmpty(
                "things are left at the backend after the test", soon.plus(detected), this::newThings));
        if (run.guarantees().has(Capability.LISTING)) {
            failures.collect(() -> assertNoNames(destroyed));
        }
        knownThings.addAll(newThings());
        Thread.getAllStackTraces().keySet().forEach(thread -> knownThreads.add(id(thread)));
        failures.rethrow();
    }

    private void assertNoNames(Set<String> destroyed) {
        Set<String> left = new TreeSet<>(run.listNames());
        left.removeIf(name -> !name.contains(run.nameSpace()) && !destroyed.contains(name));
        if (!left.isEmpty()) {
            throw new AssertionError("semaphores are left after the test: " + left);
        }
    }

    private Set<String> newThings() {
        Set<String> things = new TreeSet<>(run.harness().leftovers().things());
        things.removeAll(knownThings);
        return things;
    }

    private Set<String> newThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.isAlive() && !knownThreads.contains(id(thread)))
                .filter(thread ->
                        OWN_THREADS.stream().noneMatch(own -> thread.getName().startsWith(own)))
                .filter(thread -> !run.harness().mayStay(thread))
                .map(Thread::getName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @SuppressWarnings("deprecation") // threadId() came with Java 19
    private static long id(Thread thread) {
        return thread.getId();
    }
}
