package io.github.distributedsemaphore.tck;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What exists at the backend, as an independent channel sees it: a line per thing, such as a key, a queue, a connection,
 * a session, a file or a descriptor. The kit compares two of them. Immutable.
 *
 * @param things the things, in order; two equal ones must be told apart, for example by a number
 */
public record Leftovers(SortedSet<String> things) {
    /** Nothing is there, or the harness cannot look. */
    public static final Leftovers NONE = of(List.of());

    /**
     * Keeps a copy.
     *
     * @param things see the record
     */
    public Leftovers {
        things = Collections.unmodifiableSortedSet(new TreeSet<>(things));
    }

    /**
     * Collects things.
     *
     * @param things the things
     * @return all of them
     */
    public static Leftovers of(Collection<String> things) {
        return new Leftovers(new TreeSet<>(things));
    }
}
