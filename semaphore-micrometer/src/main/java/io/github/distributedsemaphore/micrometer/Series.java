package io.github.distributedsemaphore.micrometer;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** The meters of one value of the tag {@code semaphore}: of one semaphore, or of several that share them. Thread-safe. */
final class Series {
    private static final String PREFIX = "distributed.semaphore.";

    /** How a call for permits ends that gets none. */
    enum Outcome {
        REFUSED,
        TIMED_OUT,
        WITHDRAWN,
        FAILED
    }

    private final MeterRegistry registry;
    private final Tags tags;
    private final List<Meter> meters = Collections.synchronizedList(new ArrayList<>());
    private final Set<DistributedSemaphore> semaphores =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private final Timer grantedByBackend;
    private final Timer grantedByHandOff;
    private final Map<Outcome, Timer> ended = new EnumMap<>(Outcome.class);
    private final Timer hold;
    private final Counter releases;
    private final Map<LossCause, Counter> losses = new EnumMap<>(LossCause.class);
    private final Counter renewalsOk;
    private final Counter renewalsFailed;
    private final Timer exchangesOk;
    private final Timer exchangesFailed;
    private final DistributionSummary requests;

    private int limitSum;
    private int freeSum;
    private boolean sampleFound;
    private boolean sampleFailed;
    private volatile double limit = Double.NaN;
    private volatile double free = Double.NaN;

    Series(MeterRegistry registry, Tags tags, boolean sampled) {
        this.registry = registry;
        this.tags = tags;
        gauge("held", "Permits that this client holds", statistics -> statistics.held());
        gauge("waiters", "Calls of this client that wait for permits", statistics -> statistics.waiting());
        keep(TimeGauge.builder(PREFIX + "validity", this, TimeUnit.NANOSECONDS, Series::validityNanos)
                .description("Time until the first permit ends if no renewal is confirmed; NaN if none is held")
                .tags(tags)
                .register(registry));
        grantedByBackend = acquire("granted", "backend");
        grantedByHandOff = acquire("granted", "hand_off");
        for (Outcome outcome : Outcome.values()) {
            ended.put(outcome, acquire(lower(outcome), "none"));
        }
        hold = timer("hold", "How long permits were held that were released", Tags.empty());
        releases = counter("releases", "Permits that the application gave up", Tags.empty());
        for (LossCause cause : LossCause.values()) {
            losses.put(cause, counter("losses", "Permits that were lost", Tags.of("cause", lower(cause))));
        }
        renewalsOk = counter("renewals", "Renewals", Tags.of("outcome", "ok"));
        renewalsFailed = counter("renewals", "Renewals", Tags.of("outcome", "failed"));
        exchangesOk = timer("exchange", "Requests that take or give back slots", Tags.of("outcome", "ok"));
        exchangesFailed = timer("exchange", "Requests that take or give back slots", Tags.of("outcome", "failed"));
        requests = keep(DistributionSummary.builder(PREFIX + "exchange.requests")
                .description("Calls and slots to give back that one request served")
                .tags(tags)
                .register(registry));
        if (sampled) {
            keep(Gauge.builder(PREFIX + "limit", this, series -> series.limit)
                    .description("Slots at the backend, by the last sample")
                    .tags(tags)
                    .register(registry));
            keep(Gauge.builder(PREFIX + "free", this, series -> series.free)
                    .description("Slots that were free at the backend in the last sample")
                    .tags(tags)
                    .register(registry));
        }
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private <M extends Meter> M keep(M meter) {
        meters.add(meter);
        return meter;
    }

    private void gauge(String name, String description, ToDoubleFunction<SemaphoreStatistics> value) {
        keep(Gauge.builder(
                        PREFIX + name,
                        this,
                        series -> series.now().mapToDouble(value).sum())
                .description(description)
                .tags(tags)
                .register(registry));
    }

    private Timer acquire(String outcome, String via) {
        return timer("acquire", "Time of calls for permits", Tags.of("outcome", outcome, "via", via));
    }

    private Timer timer(String name, String description, Tags more) {
        return keep(Timer.builder(PREFIX + name)
                .description(description)
                .tags(tags.and(more))
                .register(registry));
    }

    private Counter counter(String name, String description, Tags more) {
        return keep(Counter.builder(PREFIX + name)
                .description(description)
                .tags(tags.and(more))
                .register(registry));
    }

    private Stream<SemaphoreStatistics> now() {
        return List.copyOf(semaphores).stream().map(DistributedSemaphore::statistics);
    }

    private double validityNanos() {
        return now().map(SemaphoreStatistics::validUntil)
                .filter(end -> !end.isNever())
                .mapToDouble(end -> end.remaining().toNanos())
                .min()
                .orElse(Double.NaN);
    }

    void watch(DistributedSemaphore semaphore) {
        semaphores.add(semaphore);
    }

    void close() {
        meters.forEach(registry::remove);
        meters.clear();
    }

    void acquired(long waitedNanos, boolean handedOff) {
        (handedOff ? grantedByHandOff : grantedByBackend).record(waitedNanos, TimeUnit.NANOSECONDS);
    }

    void ended(Outcome outcome, long waitedNanos) {
        Timer timer = ended.get(outcome);
        if (timer != null) {
            timer.record(waitedNanos, TimeUnit.NANOSECONDS);
        }
    }

    void released(long heldNanos) {
        releases.increment();
        if (heldNanos >= 0) {
            hold.record(heldNanos, TimeUnit.NANOSECONDS);
        }
    }

    void lost(LossCause cause) {
        Counter counter = losses.get(cause);
        if (counter != null) {
            counter.increment();
        }
    }

    void renewed(boolean answered) {
        (answered ? renewalsOk : renewalsFailed).increment();
    }

    void exchanged(int served, long tookNanos, boolean answered) {
        (answered ? exchangesOk : exchangesFailed).record(tookNanos, TimeUnit.NANOSECONDS);
        requests.record(served);
    }

    // By the thread that samples

    void beginSample() {
        limitSum = 0;
        freeSum = 0;
        sampleFound = false;
        sampleFailed = false;
    }

    void add(SemaphoreDescription found) {
        limitSum += found.limit();
        freeSum += found.free();
        sampleFound = true;
    }

    void sampleFailed() {
        sampleFailed = true;
    }

    void endSample() {
        // A zero would say that all permits are taken.
        boolean known = sampleFound && !sampleFailed;
        limit = known ? limitSum : Double.NaN;
        free = known ? freeSum : Double.NaN;
    }
}
