package io.github.distributedsemaphore;

import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a backend promises under its present settings. Every bound is declared here and measured by the compatibility
 * kit. Immutable.
 *
 * @param backend the name of the backend, such as {@code local}
 * @param capabilities what it can do
 * @param detectionMin after a holder dies without a word its slot is not free before this time
 * @param detectionMax after a holder dies without a word its slot is free within this time
 * @param lossNotice a holder whose slot was taken from it, other than by the end of its own validity, is told within
 *     this time
 * @param wakeUp a permit released in order reaches a waiter of another process within this time
 * @param operation a call that does not wait for a permit returns or fails within this time
 * @param handOff for at most this long a slot passes among the threads of one client without the backend being asked;
 *     also the longest that a resize or a destruction can go unnoticed by such a permit
 * @param exposure per fault the longest overlap of two holders that cannot be excluded; zero means none, {@code
 *     ChronoUnit.FOREVER.getDuration()} means no bound; a fault that cannot happen to the backend is not in the map
 * @param maxNameBytes the longest name, in bytes of UTF-8
 * @param maxPermits the highest limit
 * @param notes what else a user should know, a sentence each
 */
public record Guarantees(
        String backend,
        Set<Capability> capabilities,
        Duration detectionMin,
        Duration detectionMax,
        Duration lossNotice,
        Duration wakeUp,
        Duration operation,
        Duration handOff,
        Map<Fault, Duration> exposure,
        int maxNameBytes,
        int maxPermits,
        List<String> notes) {

    /**
     * Keeps unmodifiable copies.
     *
     * @param backend see the record
     * @param capabilities see the record
     * @param detectionMin see the record
     * @param detectionMax see the record
     * @param lossNotice see the record
     * @param wakeUp see the record
     * @param operation see the record
     * @param handOff see the record
     * @param exposure see the record
     * @param maxNameBytes see the record
     * @param maxPermits see the record
     * @param notes see the record
     */
    public Guarantees {
        capabilities = Set.copyOf(capabilities);
        exposure = Map.copyOf(exposure);
        notes = List.copyOf(notes);
    }

    /**
     * Tells whether a capability is declared.
     *
     * @param capability the capability
     * @return true if it is
     */
    public boolean has(Capability capability) {
        return capabilities.contains(capability);
    }

    /**
     * Returns the same guarantees with another bound for local hand-off, as the client's settings have it.
     *
     * @param bound the bound
     * @return a copy
     */
    public Guarantees withHandOff(Duration bound) {
        return new Guarantees(
                backend,
                capabilities,
                detectionMin,
                detectionMax,
                lossNotice,
                wakeUp,
                operation,
                bound,
                exposure,
                maxNameBytes,
                maxPermits,
                notes);
    }

    /**
     * Starts the guarantees of a backend. Nothing is promised until it is said, but for bounds of zero.
     *
     * @param backend the name of the backend
     * @return a builder, for one thread
     */
    public static Builder of(String backend) {
        return new Builder(backend);
    }

    /** Collects the guarantees of a backend. Not thread-safe. */
    public static final class Builder {
        private final String backend;
        private final Set<Capability> capabilities = EnumSet.noneOf(Capability.class);
        private final Map<Fault, Duration> exposure = new EnumMap<>(Fault.class);
        private Duration detectionMin = Duration.ZERO;
        private Duration detectionMax = Duration.ZERO;
        private Duration lossNotice = Duration.ZERO;
        private Duration wakeUp = Duration.ZERO;
        private Duration operation = Duration.ZERO;
        private int maxNameBytes;
        private int maxPermits;
        private List<String> notes = List.of();

        private Builder(String backend) {
            this.backend = backend;
        }

        /**
         * Declares capabilities.
         *
         * @param declared the capabilities
         * @return this
         */
        public Builder capabilities(Capability... declared) {
            capabilities.addAll(List.of(declared));
            return this;
        }

        /**
         * Declares within which time a dead holder's slot is free, and before which it is not.
         *
         * @param min the earliest
         * @param max the latest
         * @return this
         */
        public Builder detection(Duration min, Duration max) {
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
        public Builder lossNotice(Duration bound) {
            lossNotice = bound;
            return this;
        }

        /**
         * Declares how soon a released permit reaches a waiter of another process.
         *
         * @param bound the latest
         * @return this
         */
        public Builder wakeUp(Duration bound) {
            wakeUp = bound;
            return this;
        }

        /**
         * Declares how long a call that does not wait for a permit may take.
         *
         * @param bound the latest
         * @return this
         */
        public Builder operation(Duration bound) {
            operation = bound;
            return this;
        }

        /**
         * Declares the longest overlap of two holders that a fault can bring about.
         *
         * @param fault the fault
         * @param overlap zero for none
         * @return this
         */
        public Builder exposure(Fault fault, Duration overlap) {
            exposure.put(fault, overlap);
            return this;
        }

        /**
         * Declares the size of names and limits.
         *
         * @param nameBytes the longest name in bytes of UTF-8
         * @param permits the highest limit
         * @return this
         */
        public Builder sizes(int nameBytes, int permits) {
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
        public Builder notes(String... sentences) {
            notes = List.of(sentences);
            return this;
        }

        /**
         * Finishes.
         *
         * @return the guarantees, with no hand-off
         */
        public Guarantees build() {
            return new Guarantees(
                    backend,
                    capabilities,
                    detectionMin,
                    detectionMax,
                    lossNotice,
                    wakeUp,
                    operation,
                    Duration.ZERO,
                    exposure,
                    maxNameBytes,
                    maxPermits,
                    notes);
        }
    }
}
