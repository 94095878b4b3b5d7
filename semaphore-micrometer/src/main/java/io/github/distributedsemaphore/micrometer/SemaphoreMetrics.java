package io.github.distributedsemaphore.micrometer;

import io.github.distributedsemaphore.SemaphoreClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The meters of one client's semaphores.
 *
 * <pre>{@code
 * SemaphoreMetrics metrics = SemaphoreMetrics.builder(client).names("exports", "imports").build();
 * metrics.bindTo(registry);
 * }</pre>
 *
 * <p>All meters have the tags {@code semaphore} and {@code backend}, and those of the builder. Their names begin with {@code
 * distributed.semaphore}; {@code docs/operations.md} lists them with the alerts that they are for. A scrape asks no backend. A
 * semaphore has meters from the first event on that concerns it; those that the builder names have them from the start.
 *
 * <p>The first 100 values of the tag {@code semaphore} have series of their own; all others share the value {@code other}.
 *
 * <p>Thread-safe; does not block. Several clients of one kind of backend in one registry need a tag that tells them apart, else the
 * gauges of the second are not there.
 */
public final class SemaphoreMetrics implements MeterBinder, AutoCloseable {
    private final Builder settings;
    private final IdentityHashMap<MeterRegistry, Binding> bindings = new IdentityHashMap<>();

    private SemaphoreMetrics(Builder settings) {
        this.settings = settings;
    }

    /**
     * Starts the meters of a client.
     *
     * @param client the client, which stays open for as long as the meters are to be of use
     * @return a builder, for one thread
     */
    public static Builder builder(SemaphoreClient client) {
        return new Builder(client);
    }

    /**
     * Registers the meters, and counts from now on. Has no effect on a registry that has them already.
     *
     * @param registry takes the meters
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        Binding binding =
                new Binding(settings.client, registry, settings.tags, settings.nameTag, settings.sampleLimits);
        synchronized (bindings) {
            // A second one would share the counters of the first, and each event would count twice.
            if (bindings.putIfAbsent(registry, binding) != null) {
                return;
            }
        }
        try {
            binding.start(settings.names);
        } catch (RuntimeException | Error e) {
            // As bound it would make the next try do nothing.
            synchronized (bindings) {
                bindings.remove(registry, binding);
            }
            binding.close();
            throw e;
        }
    }

    /** Removes the meters from their registries and stops to count. Idempotent. To be called when the client is closed. */
    @Override
    public void close() {
        List<Binding> bound;
        synchronized (bindings) {
            bound = List.copyOf(bindings.values());
            bindings.clear();
        }
        bound.forEach(Binding::close);
    }

    /** Collects the settings of {@link SemaphoreMetrics}. Not thread-safe. */
    public static final class Builder {
        private final SemaphoreClient client;
        private List<String> names = List.of();
        private Tags tags = Tags.empty();
        private UnaryOperator<String> nameTag = UnaryOperator.identity();
        private Duration sampleLimits = Duration.ZERO;

        private Builder(SemaphoreClient client) {
            this.client = client;
        }

        /**
         * Names the semaphores that have meters from the start, so that an alert sees a zero before the first event.
         *
         * @param semaphoreNames their names; none by default
         * @return this
         */
        public Builder names(String... semaphoreNames) {
            names = List.of(semaphoreNames);
            return this;
        }

        /**
         * Adds tags to every meter.
         *
         * @param more such as the name of the client
         * @return this
         */
        public Builder tags(Iterable<Tag> more) {
            tags = tags.and(more);
            return this;
        }

        /**
         * Decides the value of the tag {@code semaphore}, so that semaphores of many names, say one for each tenant, share their series.
         *
         * @param tagOfName from the name of a semaphore to the value; by default the name itself. Called by many threads
         * @return this
         */
        public Builder nameTag(UnaryOperator<String> tagOfName) {
            nameTag = tagOfName;
            return this;
        }

        /**
         * Adds the gauges {@code limit} and {@code free}, which ask the backend now and then, on a thread of their own and never in a
         * scrape. One instance of an application is enough.
         *
         * @param every how often, from 1 s to 1 h; not at all by default
         * @return this
         * @throws IllegalArgumentException if it is out of range
         */
        public Builder sampleLimits(Duration every) {
            if (every.compareTo(Duration.ofSeconds(1)) < 0 || every.compareTo(Duration.ofHours(1)) > 0) {
                throw new IllegalArgumentException("sampleLimits is " + every + ", it has to be from 1s to 1h");
            }
            sampleLimits = every;
            return this;
        }

        /**
         * Finishes; {@link SemaphoreMetrics#bindTo} registers the meters.
         *
         * @return the meters, to be closed with the client
         */
        public SemaphoreMetrics build() {
            return new SemaphoreMetrics(this);
        }
    }
}
