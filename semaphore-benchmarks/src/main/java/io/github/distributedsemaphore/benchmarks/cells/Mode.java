package io.github.distributedsemaphore.benchmarks.cells;

import java.util.EnumSet;
import java.util.Set;

/** What is measured. */
public enum Mode {
    /** This library, with the settings that it has by default. */
    SEMAPHORE("semaphore"),
    /** This library over Redis, with releases that hand the slot to the first client that waits. */
    HANDING_OVER("semaphore, handOver"),
    /** Redisson's {@code RSemaphore}: a bare counter; what a dead client held is lost for good. */
    REDISSON("redisson"),
    /** Redisson's {@code RPermitExpirableSemaphore} with a lease: the counterpart of a permit that comes back. */
    REDISSON_EXPIRABLE("redisson-expirable"),
    /** No semaphore: one SET for an acquire and one for a release, the least that two round trips can cost. */
    FLOOR("floor"),
    /** No semaphore: the bare commands of a pair that meets nobody, the least that this library's format in Redis can cost. */
    STREAM("command-stream"),
    /** The algorithm of HashiCorp's semaphore guide. */
    GUIDE("guide"),
    /** No semaphore: one write to Consul for an acquire and one for a release, the least that two commits can cost. */
    COMMITS("two-commits"),
    /** No semaphore: the two transactions of a pair, the least that this library's protocol can cost. */
    TRANSACTIONS("two-transactions"),
    /** The algorithm of the persistent semaphore's specification. */
    SPECIFICATION("specification"),
    /** This library where all slots but one are held, another one each time. */
    ONE_FREE("semaphore, one free"),
    /** The specification's algorithm there. */
    ONE_FREE_SPECIFICATION("specification, one free"),
    /** This library where all slots are held: a refusal. */
    REFUSED("semaphore, refused"),
    /** No semaphore: the declaration of an exclusive queue, and a message with its confirm. */
    DECLARE_AND_CONFIRM("declare-and-confirm"),
    /** No semaphore: a message to RabbitMQ with its confirm. */
    ROUND_TRIP("publish-and-confirm"),
    /** No semaphore: two UPDATEs in PostgreSQL, each a commit. */
    UPDATES("two-updates"),
    /** A semaphore of advisory locks of PostgreSQL that are polled. */
    ADVISORY_LOCKS("advisory-locks");

    private static final Set<Mode> EXCLUDING_NOBODY =
            EnumSet.of(FLOOR, STREAM, COMMITS, TRANSACTIONS, REFUSED, DECLARE_AND_CONFIRM, ROUND_TRIP, UPDATES);

    private final String label;

    Mode(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    public boolean excludes() {
        return !EXCLUDING_NOBODY.contains(this);
    }
}
