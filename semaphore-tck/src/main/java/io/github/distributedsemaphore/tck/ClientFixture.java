package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The part of a {@link TckFixture} that has clients and semaphores. Thread-safe. */
abstract class ClientFixture extends TimedFixture {
    private final TckRun run;
    private final FixtureResources resources;
    private final List<String> rules;
    private @Nullable SemaphoreClient home;

    ClientFixture(TckRun run, List<String> rules, long seed) {
        super(run.settings(), run.measurements(), seed);
        this.run = run;
        this.rules = rules;
        this.resources = new FixtureResources(run, timing());
    }

    final FixtureResources resources() {
        return resources;
    }

    final TckRun run() {
        return run;
    }

    final List<String> rules() {
        return rules;
    }

    /** Notes the calls of a client, and closes it after the test. */
    final SemaphoreClient own(SemaphoreClient client) {
        return resources.own(run.recorder().recording(client, rules, resources::threw));
    }

    /**
     * Returns the harness.
     *
     * @return the adapter's
     */
    public SemaphoreTckHarness harness() {
        return run.harness();
    }

    /**
     * Returns what the backend declares.
     *
     * @return as a client with default settings says
     */
    public Guarantees guarantees() {
        return run.guarantees();
    }

    /**
     * Tells whether a capability is declared.
     *
     * @param capability the capability
     * @return true if so
     */
    public boolean has(Capability capability) {
        return guarantees().has(capability);
    }

    /**
     * Returns a name in the name space of the run.
     *
     * @return a new one each time
     */
    public String uniqueName() {
        return uniqueName("s");
    }

    /**
     * Returns a name in the name space of the run.
     *
     * @param hint part of it
     * @return a new one each time
     */
    public String uniqueName(String hint) {
        return run.uniqueName(hint);
    }

    /**
     * Connects a client.
     *
     * @return a new one, closed after the test
     */
    public SemaphoreClient client() {
        return client(ClientSpec.plain());
    }

    /**
     * Connects a client with a label.
     *
     * @param label the label
     * @return a new one, closed after the test
     */
    public SemaphoreClient client(String label) {
        return client(ClientSpec.plain().labelled(label));
    }

    /**
     * Connects a client.
     *
     * @param spec what it is to be like
     * @return a new one, closed after the test
     */
    public SemaphoreClient client(ClientSpec spec) {
        return own(run.harness().connect(spec));
    }

    /**
     * Returns the client that the test mainly uses.
     *
     * @return the same one on each call, closed after the test
     */
    public synchronized SemaphoreClient home() {
        SemaphoreClient client = home;
        if (client == null) {
            client = client();
            home = client;
        }
        return client;
    }

    /**
     * Creates a semaphore.
     *
     * @param limit its limit
     * @return its name; it is destroyed after the test
     */
    public String create(int limit) {
        return create(uniqueName(), limit);
    }

    /**
     * Creates a semaphore.
     *
     * @param name its name
     * @param limit its limit
     * @return its name; it is destroyed after the test
     */
    public String create(String name, int limit) {
        created(name);
        home().admin().create(name, limit);
        return name;
    }

    /**
     * Says that a test created a semaphore, or may have.
     *
     * @param name its name; it is destroyed after the test
     * @return the name
     */
    public String created(String name) {
        resources.created(name);
        return name;
    }

    /**
     * Creates a semaphore of a new name.
     *
     * @param limit its limit
     * @return the semaphore of the {@code home()} client
     */
    public DistributedSemaphore semaphore(int limit) {
        return home().semaphore(create(limit));
    }

    /**
     * Takes permits that must be free, one after the other.
     *
     * @param semaphore where
     * @param count how many
     * @return the permits
     */
    public List<Permit> take(DistributedSemaphore semaphore, int count) {
        List<Permit> permits = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            Optional<Permit> permit = semaphore.tryAcquire();
            if (permit.isEmpty()) {
                throw new AssertionError("semaphore '" + semaphore.name() + "' refused permit " + i + " of " + count
                        + ", which must be free");
            }
            permits.add(permit.get());
        }
        return permits;
    }

    /**
     * Shows that a fresh client can acquire exactly so many permits: that no permit has vanished and none has been
     * added. Waits a moment for permits that are on their way back.
     *
     * @param name the semaphore
     * @param count how many
     */
    public void assertFree(String name, int count) {
        try (SemaphoreClient fresh = run.harness().connect(ClientSpec.plain())) {
            Conservation.assertFree(fresh.semaphore(name), count, patience());
        }
    }
}
