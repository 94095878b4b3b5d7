package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.guarantees.Capability;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Looks after each test whether it left something behind: threads, names, things at the backend. */
public final class Hygiene {
    /** Threads of the JVM, of JUnit and of the kit, which come and go on their own. */
    private static final List<String> OWN_THREADS = List.of(
            "tck-agent",
            "tck-heartbeat",
            "tck-jvm",
            "tck-proxy",
            "process reaper",
            "ForkJoinPool.commonPool",
            "junit",
            "surefire",
            "Attach Listener",
            "Common-Cleaner",
            "VirtualThread-");

    private static final Pattern CLIENT_THREAD = Pattern.compile("(semaphore-\\d+)-.*");
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final TckRun run;
    /** Their names, by id. Some may have ended since the last test. */
    private final Map<Long, String> knownThreads;
    /** A client that was there before may still add to its threads. */
    private final Set<String> knownClients;

    private final Set<String> knownThings;

    /** The threads that a run starts are in its group or in one below, and those of another run beside it are not. */
    private final ThreadGroup group =
            Objects.requireNonNull(Thread.currentThread().getThreadGroup(), "a live thread");

    /** Until when threads of pools may be without work, by their id. */
    private final Map<Long, Long> idleUntil = new HashMap<>();

    /** What tests that are over have left of their dead, by name; only where detection takes longer than a test may. */
    private final Map<String, Debt> debts = new TreeMap<>();

    Hygiene(TckRun run) {
        this.run = run;
        this.knownThreads = threads();
        this.knownClients = Thread.getAllStackTraces().keySet().stream()
                .map(thread -> CLIENT_THREAD.matcher(thread.getName()))
                .filter(Matcher::matches)
                .map(client -> client.group(1))
                .collect(Collectors.toCollection(HashSet::new));
        this.knownThings = new TreeSet<>(run.harness().leftovers().things());
    }

    /** Something that has to be gone by an instant. */
    private record Debt(Set<String> semaphores, long dueNanos) {}

    /** What one test is blamed for no other is. */
    public synchronized void assertClean(TckTiming timing, Set<String> destroyed) {
        Duration soon = soon(timing);
        Duration detected = timing.settings().scaled(run.guarantees().detectionMax());
        Failures failures = new Failures();
        failures.collect(() -> timing.awaitEmpty(
                "threads are left after the clients were closed", soon, () -> newThreads(thread -> true)));
        if (detected.compareTo(GRACE) > 0) {
            owe(soon.plus(detected), destroyed);
            failures.collect(this::assertNothingOverdue);
        } else {
            failures.collect(() -> timing.awaitEmpty(
                    "things are left at the backend after the test", soon.plus(detected), this::newThings));
        }
        if (run.guarantees().has(Capability.LISTING)) {
            failures.collect(() -> assertNoNames(destroyed));
        }
        overlook();
        failures.rethrow();
    }

    /** What is left of a test that failed or was aborted is not blamed on the next one. */
    public synchronized void overlook() {
        knownThings.addAll(newThings());
        Map<Long, String> now = threads();
        idleUntil.keySet().retainAll(now.keySet());
        idleUntil.values().removeIf(end -> System.nanoTime() - end >= 0);
        knownThreads.keySet().retainAll(now.keySet());
        now.keySet().removeAll(idleUntil.keySet());
        knownThreads.putAll(now);
    }

    private static Map<Long, String> threads() {
        Map<Long, String> names = new HashMap<>();
        Thread.getAllStackTraces().keySet().forEach(thread -> names.put(id(thread), thread.getName()));
        return names;
    }

    private static Duration soon(TckTiming timing) {
        return timing.patience().compareTo(GRACE) < 0
                ? timing.patience()
                : timing.settings().scaled(GRACE);
    }

    /** Where each test that kills a client would wait for a long detection, the next ones run meanwhile. */
    private void owe(Duration bound, Set<String> semaphores) {
        long due = System.nanoTime() + bound.toNanos();
        newThings().forEach(thing -> debts.put(thing, new Debt(Set.copyOf(semaphores), due)));
    }

    private void assertNothingOverdue() {
        debts.keySet().retainAll(run.harness().leftovers().things());
        Map<String, Debt> overdue = new TreeMap<>(debts);
        overdue.values().removeIf(debt -> System.nanoTime() - debt.dueNanos() < 0);
        debts.keySet().removeAll(overdue.keySet());
        if (!overdue.isEmpty()) {
            throw new AssertionError("things are left at the backend by an earlier test, after the detection time: "
                    + overdue.keySet() + ", of a test with "
                    + overdue.values().stream().map(Debt::semaphores).distinct().toList());
        }
    }

    /** Waits until what the last tests left is gone. */
    synchronized void assertAllGone() {
        idleUntil.replaceAll((thread, end) -> System.nanoTime());
        run.timing()
                .awaitEmpty(
                        "threads are left after the last test",
                        soon(run.timing()),
                        () -> newThreads(thread -> idleUntil.containsKey(id(thread))));
        for (assertNothingOverdue(); !debts.isEmpty(); assertNothingOverdue()) {
            Pause.millis(50);
        }
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
        // A lease of theirs that ended on a busy machine leaves something else than they had before.
        things.removeIf(thing -> run.lastingNames().stream().anyMatch(thing::contains));
        return things;
    }

    /** With what each of them does: its name alone does not say where it stays. */
    private Set<String> newThreads(Predicate<Thread> choice) {
        Map<Thread, StackTraceElement[]> alive = Thread.getAllStackTraces();
        Map<Long, String> ended = new HashMap<>(knownThreads);
        alive.keySet().forEach(thread -> ended.remove(id(thread)));
        Set<String> left = new TreeSet<>();
        alive.forEach((thread, stack) -> {
            // A client that stays open makes a connection again where a busy backend did not answer on the one before.
            if (choice.test(thread)
                    && isNew(thread)
                    && !mayIdle(thread, stack)
                    && !ended.values().remove(thread.getName())) {
                left.add(ThreadDump.one(thread, stack));
            }
        });
        return left;
    }

    private boolean isNew(Thread thread) {
        return isOurs(thread)
                && !knownThreads.containsKey(id(thread))
                && OWN_THREADS.stream().noneMatch(thread.getName()::startsWith)
                // Tests that run in parallel: JUnit's workers are called as those of any such pool.
                && !thread.getClass().getName().startsWith("org.junit.")
                && !run.harness().mayStay(thread)
                && !isOfKnownClient(thread);
    }

    /**
     * Whether a thread of a pool waits for work, and has not for long. It ends by itself after a while, unless a client that stays
     * open uses it in the next test; to wait for it after each test took longer than most tests.
     */
    private boolean mayIdle(Thread thread, StackTraceElement[] stack) {
        boolean isWaiting =
                Arrays.stream(stack).anyMatch(frame -> frame.getMethodName().equals("poll"));
        boolean isOfPool = Arrays.stream(stack)
                .anyMatch(frame -> frame.getClassName().equals(ThreadPoolExecutor.class.getName())
                        && frame.getMethodName().equals("getTask"));
        return isWaiting
                && isOfPool
                && System.nanoTime()
                                - idleUntil.computeIfAbsent(id(thread), unused -> System.nanoTime() + GRACE.toNanos())
                        < 0;
    }

    private boolean isOurs(Thread thread) {
        // One that has ended is in no group.
        ThreadGroup its = thread.getThreadGroup();
        return its != null && group.parentOf(its);
    }

    private boolean isOfKnownClient(Thread thread) {
        Matcher client = CLIENT_THREAD.matcher(thread.getName());
        return client.matches() && knownClients.contains(client.group(1));
    }

    @SuppressWarnings("deprecation") // threadId() came with Java 19
    private static long id(Thread thread) {
        return thread.getId();
    }
}
