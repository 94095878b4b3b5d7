package io.github.distributedsemaphore.benchmarks.engine;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.micrometer.SemaphoreMetrics;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * An acquire with its release, through the engine and a backend in memory that answers at once. What is left is the cost of
 * the engine, plus little for the backend; a server adds its round trips.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class EngineBenchmark {
    /** For JMH. */
    public EngineBenchmark() {}

    /** One client at one semaphore. */
    public abstract static class Client {
        private final int limit;
        private final SemaphoreClient client;
        private final DistributedSemaphore semaphore;

        Client(int limit) {
            this.limit = limit;
            this.client = SemaphoreClient.builder(new MemoryBackend(new MemoryServer(), HolderInfo.ofThisProcess("")))
                    .connect();
            this.semaphore = client.semaphore("measured");
        }

        /** Makes the semaphore. */
        @Setup
        public void create() {
            client.admin().create("measured", limit);
        }

        /** Ends the client. */
        @TearDown
        public void close() {
            client.close();
        }

        void listen(SemaphoreListener listener) {
            client.addListener(listener);
        }

        /** Attaches the meters of an application. */
        void measure() {
            SemaphoreMetrics.builder(client)
                    .names("measured")
                    .build()
                    .bindTo(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT));
        }

        void look() {
            if (semaphore.statistics().held() > limit) {
                throw new IllegalStateException("more permits are held than there are");
            }
        }

        long pair() throws InterruptedException {
            try (Permit permit = semaphore.acquire()) {
                return permit.fence().epoch();
            }
        }
    }

    /** More permits than threads. */
    @State(Scope.Benchmark)
    public static class Plenty extends Client {
        /** For JMH. */
        public Plenty() {
            super(1_000);
        }
    }

    /** Fewer permits than threads: slots pass from thread to thread. */
    @State(Scope.Benchmark)
    public static class Scarce extends Client {
        /** For JMH. */
        public Scarce() {
            super(3);
        }
    }

    /** As {@link Scarce}, with meters. */
    @State(Scope.Benchmark)
    public static class ScarceWithMeters extends Client {
        /** For JMH. */
        public ScarceWithMeters() {
            super(3);
        }

        @Override
        public void create() {
            super.create();
            measure();
        }
    }

    /** The same, with a listener that counts, and somebody who looks at the statistics every hundredth second. */
    @State(Scope.Benchmark)
    public static class Heard extends Client {
        private final LongAdder news = new LongAdder();
        private final ScheduledExecutorService reader = Executors.newSingleThreadScheduledExecutor();

        /** For JMH. */
        public Heard() {
            super(3);
        }

        @Override
        public void create() {
            super.create();
            listen(new SemaphoreListener() {
                @Override
                public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                    news.increment();
                }

                @Override
                public void onReleased(String semaphoreName, int slot, long heldNanos) {
                    news.increment();
                }
            });
            Future<?> unused = reader.scheduleAtFixedRate(this::look, 10, 10, TimeUnit.MILLISECONDS);
        }

        @Override
        public void close() {
            reader.shutdownNow();
            super.close();
            if (news.sum() == 0) {
                throw new IllegalStateException("the listener heard nothing");
            }
        }
    }

    /**
     * Nobody else is there.
     *
     * @param client at the semaphore
     * @return the epoch
     * @throws InterruptedException if JMH ends the wait
     */
    @Benchmark
    @Threads(1)
    public long uncontended(Plenty client) throws InterruptedException {
        return client.pair();
    }

    /**
     * Many threads, a permit for each.
     *
     * @param client at the semaphore
     * @return the epoch
     * @throws InterruptedException if JMH ends the wait
     */
    @Benchmark
    @Threads(32)
    public long crowd(Plenty client) throws InterruptedException {
        return client.pair();
    }

    /**
     * Many threads at few permits: local hand-off.
     *
     * @param client at the semaphore
     * @return the epoch
     * @throws InterruptedException if JMH ends the wait
     */
    @Benchmark
    @Threads(32)
    public long handOff(Scarce client) throws InterruptedException {
        return client.pair();
    }

    /**
     * The same, with a listener.
     *
     * @param client at the semaphore
     * @return the epoch
     * @throws InterruptedException if JMH ends the wait
     */
    @Benchmark
    @Threads(32)
    public long heardHandOff(Heard client) throws InterruptedException {
        return client.pair();
    }

    /**
     * As {@link #handOff}, with the meters of {@code semaphore-micrometer} in a registry of Prometheus.
     *
     * @param client at the semaphore
     * @return the epoch
     * @throws InterruptedException if JMH ends the wait
     */
    @Benchmark
    @Threads(32)
    public long handOffWithMeters(ScarceWithMeters client) throws InterruptedException {
        return client.pair();
    }
}
