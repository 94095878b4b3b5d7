package io.github.distributedsemaphore.micrometer;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The meters of one client in one registry: takes each event to the series of its semaphore. */
final class Binding implements SemaphoreListener {
    static final int MOST_SERIES = 100;
    private static final String OTHER = "other";

    private final SemaphoreClient client;
    private final MeterRegistry registry;
    private final Tags tags;
    private final UnaryOperator<String> nameTag;
    private final Duration sampleEvery;
    private final Map<String, Series> byTag = new ConcurrentHashMap<>();
    private final Map<String, Known> byName = new ConcurrentHashMap<>();

    /** What is sampled also while nobody has the semaphore. */
    private final Map<String, Series> configured = new HashMap<>();

    /** Under the lock of {@link #byTag}, as {@link #closed}. */
    private @Nullable ScheduledExecutorService sampler;

    private boolean closed;

    /** A semaphore that has had an event. The reference is weak, as the client's own is once the semaphore is idle. */
    private record Known(Series series, WeakReference<DistributedSemaphore> semaphore) {}

    Binding(
            SemaphoreClient client,
            MeterRegistry registry,
            Tags tags,
            UnaryOperator<String> nameTag,
            Duration sampleEvery) {
        this.client = client;
        this.registry = registry;
        this.tags = tags.and("backend", client.guarantees().backend());
        this.nameTag = nameTag;
        this.sampleEvery = sampleEvery;
    }

    void start(List<String> names) {
        for (String name : names) {
            Series series = series(name);
            if (series != null) {
                configured.put(name, series);
            }
        }
        synchronized (byTag) {
            // What begins after the close is ended by nobody.
            if (!closed) {
                listen();
            }
        }
    }

    private void listen() {
        client.addListener(this);
        if (!sampleEvery.isZero()) {
            sampler = Executors.newSingleThreadScheduledExecutor(task -> {
                Thread thread = new Thread(null, task, "semaphore-metrics", 0, false);
                thread.setDaemon(true);
                return thread;
            });
            Future<?> unused =
                    sampler.scheduleWithFixedDelay(this::sample, 0, sampleEvery.toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    void close() {
        synchronized (byTag) {
            // An event that runs meanwhile would register meters that nobody removes.
            closed = true;
            client.removeListener(this);
            if (sampler != null) {
                sampler.shutdownNow();
            }
        }
        byTag.values().forEach(Series::close);
        byTag.clear();
        byName.clear();
    }

    /** Null if there is none yet and the binding is closed. */
    private @Nullable Series series(String name) {
        Known known = byName.get(name);
        if (known != null && known.semaphore().get() != null) {
            return known.series();
        }
        byName.values().removeIf(other -> other.semaphore().get() == null);
        Series series = seriesOfTag(nameTag.apply(name));
        if (series == null) {
            return null;
        }
        try {
            DistributedSemaphore semaphore = client.semaphore(name);
            series.watch(semaphore);
            byName.put(name, new Known(series, new WeakReference<>(semaphore)));
        } catch (SemaphoreException e) {
            // The client is closed, and what it still does is counted without the gauges.
            return series;
        }
        return series;
    }

    private @Nullable Series seriesOfTag(String tag) {
        Series known = byTag.get(tag);
        if (known != null) {
            return known;
        }
        synchronized (byTag) {
            if (closed) {
                return null;
            }
            String own = byTag.containsKey(tag) || byTag.size() < MOST_SERIES ? tag : OTHER;
            return byTag.computeIfAbsent(
                    own, key -> new Series(registry, tags.and("semaphore", key), !sampleEvery.isZero()));
        }
    }

    private void on(String name, Consumer<Series> event) {
        Series series = series(name);
        if (series != null) {
            event.accept(series);
        }
    }

    private void sample() {
        byTag.values().forEach(Series::beginSample);
        Map<String, Series> sampled = new HashMap<>(configured);
        byName.forEach((name, known) -> sampled.put(name, known.series()));
        boolean away = false;
        for (Map.Entry<String, Series> one : sampled.entrySet()) {
            // Each further question might take its whole time, and all gauges would show old values for so long.
            away = away || !sample(one.getKey(), one.getValue());
            if (away) {
                one.getValue().sampleFailed();
            }
        }
        byTag.values().forEach(Series::endSample);
    }

    /** Returns whether the backend is there. */
    private boolean sample(String name, Series series) {
        try {
            client.admin().describe(name).ifPresent(series::add);
        } catch (BackendUnavailableException e) {
            // The gauge has no value until the backend answers again; the timer of exchanges shows that it is away.
            return false;
        } catch (RuntimeException | Error e) {
            // What leaves the task ends all further samples, and the gauges keep their last values.
            series.sampleFailed();
        }
        return true;
    }

    @Override
    public void onAcquired(String name, int slot, long waitedNanos, boolean handedOff) {
        on(name, series -> series.acquired(waitedNanos, handedOff));
    }

    @Override
    public void onRefused(String name) {
        on(name, series -> series.ended(Series.Outcome.REFUSED, 0));
    }

    @Override
    public void onTimedOut(String name, long waitedNanos) {
        on(name, series -> series.ended(Series.Outcome.TIMED_OUT, waitedNanos));
    }

    @Override
    public void onWithdrawn(String name, long waitedNanos) {
        on(name, series -> series.ended(Series.Outcome.WITHDRAWN, waitedNanos));
    }

    @Override
    public void onFailed(String name, long waitedNanos) {
        on(name, series -> series.ended(Series.Outcome.FAILED, waitedNanos));
    }

    @Override
    public void onReleased(String name, int slot, long heldNanos) {
        on(name, series -> series.released(heldNanos));
    }

    @Override
    public void onLost(String name, int slot, LossCause cause) {
        on(name, series -> series.lost(cause));
    }

    @Override
    public void onExchange(String name, int calls, int givenBack, long tookNanos, boolean answered) {
        on(name, series -> series.exchanged(calls + givenBack, tookNanos, answered));
    }

    @Override
    public void onRenewal(String name, int holds, long tookNanos, boolean answered) {
        on(name, series -> series.renewed(answered));
    }
}
