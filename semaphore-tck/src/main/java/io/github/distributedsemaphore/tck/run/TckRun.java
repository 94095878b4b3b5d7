package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.agent.Heartbeat;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.report.Conformance;
import io.github.distributedsemaphore.tck.report.ConformanceFiles;
import io.github.distributedsemaphore.tck.report.Measurements;
import io.github.distributedsemaphore.tck.report.PortUse;
import io.github.distributedsemaphore.tck.report.ReportPart;
import io.github.distributedsemaphore.tck.report.RuleResults;
import io.github.distributedsemaphore.tck.report.StateFigures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** One run of the kit over one harness: what all its tests share. Thread-safe. */
public final class TckRun implements AutoCloseable {
    private static final int MOST_FIRST_USES = 5;
    private static final AtomicInteger RUNS = new AtomicInteger();
    private static final Set<TckRun> OPEN = ConcurrentHashMap.newKeySet();

    private final String title;
    private final TckSettings settings;
    private final SemaphoreTckHarness harness;
    private final String nameSpace;
    private final AtomicInteger names = new AtomicInteger();
    private final Queue<String> issued = new ConcurrentLinkedQueue<>();
    private final SemaphoreClient janitor;
    private final Optional<QuietHold> quietHold;
    private final Hygiene hygiene;
    private final Measurements measurements = new Measurements();
    private final Heartbeat heartbeat = new Heartbeat();
    private final TckTiming timing;
    private final PortUse portUse = new PortUse();
    private final PortRecorder recorder = new PortRecorder(portUse, measurements);
    private final RuleResults results = new RuleResults();
    private final Optional<AgentPool> agents;
    private Optional<ServerControl> server = Optional.empty();
    private boolean serverWanted;

    /**
     * Begins a run.
     *
     * @param title of its report
     * @param settings of the run
     * @param harness of the backend
     * @param whole whether all sections run, and not a few rules or a kit that is tried itself
     */
    public TckRun(String title, TckSettings settings, SemaphoreTckHarness harness, boolean whole) {
        this.title = title;
        this.settings = settings;
        this.timing = new TckTiming(settings, heartbeat);
        this.harness = harness;
        this.nameSpace = "tck" + Long.toString(ProcessHandle.current().pid(), 36) + "-" + RUNS.incrementAndGet() + "-"
                + Long.toString(System.currentTimeMillis() % 100_000_000, 36);
        this.agents = harness.agents().map(AgentPool::new);
        this.janitor = orEnd(() -> harness.connect(ClientSpec.plain()));
        this.quietHold = orEnd(() -> begin(whole));
        this.hygiene = new Hygiene(this);
        OPEN.add(this);
    }

    private <T> T orEnd(Supplier<T> step) {
        try {
            return step.get();
        } catch (RuntimeException | Error e) {
            heartbeat.close();
            closeHarness();
            throw e;
        }
    }

    private Optional<QuietHold> begin(boolean whole) {
        try {
            warmUp();
            return whole ? Optional.of(new QuietHold(this, janitor)) : Optional.empty();
        } catch (RuntimeException | Error e) {
            abandon();
            janitor.close();
            throw e;
        }
    }

    public static void abandonAll() {
        OPEN.forEach(TckRun::abandon);
    }

    /** Removes what it can in the last moment of the JVM. */
    private void abandon() {
        try (SemaphoreClient client = harness.connect(ClientSpec.plain())) {
            issued.forEach(client.admin()::destroy);
        } catch (SemaphoreException e) {
            System.err.println("semaphores whose names begin with " + nameSpace + " may be left: " + e.getMessage());
        }
    }

    /** Has everything that the first use sets up for good be there before the baseline is taken. The rules judge, not this. */
    private void warmUp() {
        String name = uniqueName("first");
        janitor().create(name, 1);
        int uses = 1;
        while (!isUsed(name) && uses < MOST_FIRST_USES) {
            uses++;
        }
        janitor().destroy(name);
    }

    /** Returns false if the use failed and may be repeated: on a machine that stands still for longer than a lease a grant comes too late. */
    private boolean isUsed(String name) {
        try (SemaphoreClient first = harness.connect(ClientSpec.plain())) {
            Optional<Permit> held = first.semaphore(name).tryAcquire();
            janitor.semaphore(name).tryAcquire(Duration.ofMillis(50)).ifPresent(Permit::close);
            held.ifPresent(Permit::close);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } catch (SemaphoreException e) {
            if (!e.isRetryable()) {
                throw e;
            }
            return false;
        }
    }

    private void endQuietHold() {
        try {
            quietHold.ifPresent(QuietHold::end);
        } catch (RuntimeException | AssertionError e) {
            results.failed(QuietHold.RULES, String.valueOf(e.getMessage()));
            throw e;
        }
    }

    String title() {
        return title;
    }

    public TckSettings settings() {
        return settings;
    }

    public TckTiming timing() {
        return timing;
    }

    public SemaphoreTckHarness harness() {
        return harness;
    }

    public Guarantees guarantees() {
        return janitor.guarantees();
    }

    public Janitor janitor() {
        return new Janitor(janitor);
    }

    public Hygiene hygiene() {
        return hygiene;
    }

    public Measurements measurements() {
        return measurements;
    }

    public PortUse portUse() {
        return portUse;
    }

    public PortRecorder recorder() {
        return recorder;
    }

    public RuleResults results() {
        return results;
    }

    public Optional<AgentPool> agents() {
        return agents;
    }

    /** The server that may be stopped. It runs: a test that left it stopped is not to harm the next. */
    public synchronized Optional<ServerControl> server() {
        if (!serverWanted) {
            serverWanted = true;
            server = harness.startServer();
        }
        server.filter(control -> !control.isRunning()).ifPresent(ServerControl::start);
        return server;
    }

    private synchronized void closeServer() {
        server.ifPresent(ServerControl::close);
    }

    /** All but those that last as long as the run. */
    List<String> listNames() {
        List<String> names = new ArrayList<>(janitor.admin().names());
        names.removeAll(lastingNames());
        return names;
    }

    /** The semaphores that last as long as the run. */
    List<String> lastingNames() {
        return quietHold.map(QuietHold::names).orElse(List.of());
    }

    String nameSpace() {
        return nameSpace;
    }

    public String uniqueName(String hint) {
        String name = harness.uniqueName(nameSpace, names.incrementAndGet() + hint);
        issued.add(name);
        return name;
    }

    /** The folder of this run's reports. */
    public Path reports() {
        return settings.reports().resolve(title);
    }

    /** Removes the report of the run before: it is not to be taken for that of a run which does not come to its end. */
    public static void removeReport(Path reports) {
        try {
            for (String ending : List.of("json", "txt", "html")) {
                boolean unused = Files.deleteIfExists(reports.resolve("conformance." + ending));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the report of the run before cannot be removed from " + reports, e);
        }
    }

    private void report(Set<String> levels) {
        Map<String, String> how = new LinkedHashMap<>();
        how.put("mode", settings.mode());
        how.put("historySeconds", Long.toString(settings.histories().length().toSeconds()));
        how.put("seed", Long.toString(settings.seed()));
        how.put("timeoutFactor", Double.toString(settings.factor()));
        how.put("backendVersion", harness.backendVersion());
        how.put("java", System.getProperty("java.version"));
        how.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        how.put("processors", Integer.toString(Runtime.getRuntime().availableProcessors()));
        Conformance conformance = Conformance.of(
                title,
                how,
                guarantees(),
                String.join(", ", levels),
                results,
                measurements,
                portUse,
                harness.unproven());
        ConformanceFiles.write(conformance, reports());
        System.out.println(conformance.summary());
    }

    private synchronized Set<String> levels() {
        Set<String> levels = new TreeSet<>(Set.of("0"));
        agents.ifPresent(pool -> levels.add("1"));
        harness.link().ifPresent(link -> levels.add("2"));
        server.ifPresent(control -> levels.add("3"));
        harness.state().ifPresent(probe -> levels.add("4"));
        harness.accounts().ifPresent(accounts -> levels.add("5"));
        return levels;
    }

    @Override
    public void close() {
        OPEN.remove(this);
        Failures failures = new Failures();
        failures.collect(this::endQuietHold);
        failures.collect(hygiene::assertAllGone);
        failures.collect(this::conclude);
        agents.ifPresent(pool -> failures.collect(pool::close));
        failures.collect(this::closeServer);
        failures.collect(janitor::close);
        failures.collect(heartbeat::close);
        failures.collect(this::closeHarness);
        failures.rethrow();
    }

    /** Of several JVMs that share the sections, the last one reports for all. */
    private void conclude() {
        Set<String> levels = levels();
        if (settings.share().isPresent()) {
            ReportPart own = ReportPart.of(levels, results, measurements, portUse);
            Optional<List<ReportPart>> others = settings.share().get().leave(own);
            if (others.isEmpty()) {
                return;
            }
            others.get().forEach(part -> part.addTo(levels, results, measurements, portUse));
        }
        if (settings.report()) {
            report(levels);
        }
        assertStatesReached();
    }

    /** What was not reached was not tested. A quick run may be too short for some of it, and says so in its report. */
    private void assertStatesReached() {
        List<Sometimes> missing = measurements.states().stream()
                .filter(StateFigures::isMissing)
                .map(StateFigures::state)
                .toList();
        if (!settings.isQuick() && !missing.isEmpty()) {
            throw new AssertionError("the run is inconclusive: it never reached " + missing
                    + ", so what goes wrong there was not seen; tck.seed=" + settings.seed());
        }
    }

    private void closeHarness() {
        try {
            harness.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("the harness did not close", e);
        }
    }

    /**
     * Makes and removes what tests need, which no rule judges. A busy machine may break a call off; repeated, it goes on where it
     * ended.
     */
    public record Janitor(SemaphoreClient client) {
        private static final int TRIES = 5;

        public void create(String name, int limit) {
            insist(() -> client.admin().create(name, limit));
        }

        public void destroy(String name) {
            insist(() -> client.admin().destroy(name));
        }

        private static void insist(Runnable call) {
            for (int i = 1; ; i++) {
                try {
                    call.run();
                    return;
                } catch (BackendUnavailableException | OutcomeUnknownException e) {
                    if (i == TRIES) {
                        throw e;
                    }
                }
            }
        }
    }
}
