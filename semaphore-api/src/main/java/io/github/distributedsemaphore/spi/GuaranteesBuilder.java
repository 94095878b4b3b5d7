package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Builds the {@link Guarantees} of a backend. What is not declared is not promised; a bound that is not declared is zero.
 * Not thread-safe.
 */
public final class GuaranteesBuilder {
    private final String backend;
    private final Set<Capability> capabilities = EnumSet.noneOf(Capability.class);
    private final Map<Fault, Exposure> exposures = new EnumMap<>(Fault.class);
    private Duration detectionMin = Duration.ZERO;
    private Duration detectionMax = Duration.ZERO;
    private Duration lossNoticeBound = Duration.ZERO;
    private Duration wakeUpBound = Duration.ZERO;
    private Duration callBound = Duration.ZERO;
    private Duration handOffBound = Duration.ZERO;
    private int maxNameBytes;
    private int maxPermits;
    private List<String> notes = List.of();

    private GuaranteesBuilder(String backend) {
        this.backend = backend;
    }

    /**
     * Starts with no promise.
     *
     * @param backend the name of the backend
     * @return a builder
     */
    public static GuaranteesBuilder of(String backend) {
        return new GuaranteesBuilder(backend);
    }

    /**
     * Starts with the promises of other guarantees.
     *
     * @param other the guarantees to start from
     * @return a builder
     */
    public static GuaranteesBuilder from(Guarantees other) {
        GuaranteesBuilder builder = of(other.backend())
                .detection(other.detectionMin(), other.detectionMax())
                .lossNoticeBound(other.lossNoticeBound())
                .wakeUpBound(other.wakeUpBound())
                .callBound(other.callBound())
                .handOffBound(other.handOffBound())
                .sizes(other.maxNameBytes(), other.maxPermits());
        builder.capabilities.addAll(other.capabilities());
        builder.notes = other.notes();
        for (Fault fault : Fault.values()) {
            builder.exposure(fault, other.exposure(fault));
        }
        return builder;
    }

    /**
     * Adds capabilities.
     *
     * @param declared the capabilities
     * @return this
     */
    public GuaranteesBuilder capabilities(Capability... declared) {
        capabilities.addAll(List.of(declared));
        return this;
    }

    /**
     * Takes capabilities away.
     *
     * @param missing the capabilities
     * @return this
     */
    public GuaranteesBuilder without(Capability... missing) {
        List.of(missing).forEach(capabilities::remove);
        return this;
    }

    /**
     * Declares when a dead holder's slot is free.
     *
     * @param min the earliest
     * @param max the latest
     * @return this
     */
    public GuaranteesBuilder detection(Duration min, Duration max) {
        detectionMin = min;
        detectionMax = max;
        return this;
    }

    /**
     * Declares how soon a holder learns that its slot was taken from it.
     *
     * @param bound the latest
     * @return this
     */
    public GuaranteesBuilder lossNoticeBound(Duration bound) {
        lossNoticeBound = bound;
        return this;
    }

    /**
     * Declares how soon a released permit reaches a waiter of another process.
     *
     * @param bound the latest
     * @return this
     */
    public GuaranteesBuilder wakeUpBound(Duration bound) {
        wakeUpBound = bound;
        return this;
    }

    /**
     * Declares how long a call may take that does not wait for a permit.
     *
     * @param bound the latest
     * @return this
     */
    public GuaranteesBuilder callBound(Duration bound) {
        callBound = bound;
        return this;
    }

    /**
     * Declares the longest time for which a slot passes among the threads of one client. The engine sets it; adapters do not.
     *
     * @param bound the longest
     * @return this
     */
    public GuaranteesBuilder handOffBound(Duration bound) {
        handOffBound = bound;
        return this;
    }

    /**
     * Declares how long a fault can make two holders overlap.
     *
     * @param fault the fault
     * @param longest the longest overlap; zero for none
     * @return this
     */
    public GuaranteesBuilder exposure(Fault fault, Duration longest) {
        return exposure(fault, Exposure.atMost(longest));
    }

    /**
     * Declares how long a fault can make two holders overlap.
     *
     * @param fault the fault
     * @param exposure the exposure
     * @return this
     */
    public GuaranteesBuilder exposure(Fault fault, Exposure exposure) {
        if (exposure.equals(Exposure.CANNOT_HAPPEN)) {
            exposures.remove(fault);
        } else {
            exposures.put(fault, exposure);
        }
        return this;
    }

    /**
     * Declares the size of names and limits.
     *
     * @param nameBytes the longest name in bytes of UTF-8
     * @param permits the highest limit
     * @return this
     */
    public GuaranteesBuilder sizes(int nameBytes, int permits) {
        maxNameBytes = nameBytes;
        maxPermits = permits;
        return this;
    }

    /**
     * Adds what else a user should know.
     *
     * @param sentences a sentence each
     * @return this
     */
    public GuaranteesBuilder notes(String... sentences) {
        notes = Stream.concat(notes.stream(), Stream.of(sentences)).toList();
        return this;
    }

    /**
     * Builds the guarantees. The builder may be used again.
     *
     * @return immutable guarantees
     */
    public Guarantees build() {
        return new Declared(
                backend,
                Set.copyOf(capabilities),
                detectionMin,
                detectionMax,
                lossNoticeBound,
                wakeUpBound,
                callBound,
                handOffBound,
                Map.copyOf(exposures),
                maxNameBytes,
                maxPermits,
                List.copyOf(notes));
    }

    private record Declared(
            String backend,
            Set<Capability> capabilities,
            Duration detectionMin,
            Duration detectionMax,
            Duration lossNoticeBound,
            Duration wakeUpBound,
            Duration callBound,
            Duration handOffBound,
            Map<Fault, Exposure> exposures,
            int maxNameBytes,
            int maxPermits,
            List<String> notes)
            implements Guarantees {

        @Override
        public Exposure exposure(Fault fault) {
            return exposures.getOrDefault(fault, Exposure.CANNOT_HAPPEN);
        }
    }
}
