package io.github.distributedsemaphore.benchmarks;

/** Who is measured. */
enum Mode {
    /** This library, with the settings that it has by default. */
    SEMAPHORE("semaphore"),
    /** Redisson's {@code RSemaphore}: a bare counter; what a dead client held is lost for good. */
    REDISSON("redisson"),
    /** Redisson's {@code RPermitExpirableSemaphore} with a lease: the counterpart of a permit that comes back. */
    REDISSON_EXPIRABLE("redisson-expirable"),
    /** No semaphore: one SET for an acquire and one for a release, the least that two round trips can cost. */
    FLOOR("floor"),
    /** The algorithm of HashiCorp's semaphore guide. */
    GUIDE("guide"),
    /** No semaphore: one write to Consul for an acquire and one for a release, the least that two commits can cost. */
    COMMITS("two-commits");

    private final String label;

    Mode(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    boolean excludes() {
        return this != FLOOR && this != COMMITS;
    }
}
