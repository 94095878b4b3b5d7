package io.github.distributedsemaphore.tck.harness;

import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What exists at the backend, as an independent channel sees it: a line per thing, such as a key, a queue, a connection,
 * a session, a file or a descriptor. The kit compares two of them. Immutable.
 *
 * @param things the things, in order; two equal ones must be distinguishable, for example by a number
 * @param sizes how large some of them are, in whatever unit shows that one grows: members, rows or bytes
 */
public record Leftovers(SortedSet<String> things, SortedMap<String, Long> sizes) {
    /** Nothing is there, or the harness cannot look. */
    public static final Leftovers NONE = of(Map.of());

    /**
     * Keeps copies.
     *
     * @param things see the record
     * @param sizes see the record
     */
    public Leftovers {
        things = Collections.unmodifiableSortedSet(new TreeSet<>(things));
        sizes = Collections.unmodifiableSortedMap(new TreeMap<>(sizes));
    }

    /**
     * Collects things whose sizes nobody knows.
     *
     * @param things the things
     * @return all of them
     */
    public static Leftovers of(Collection<String> things) {
        return new Leftovers(new TreeSet<>(things), new TreeMap<>());
    }

    /**
     * Collects things with their sizes, by which the kit finds out what grows although nothing is added.
     *
     * @param sizes the size of each thing
     * @return all of them
     */
    public static Leftovers of(Map<String, Long> sizes) {
        return new Leftovers(new TreeSet<>(sizes.keySet()), new TreeMap<>(sizes));
    }

    /**
     * Lists what has grown since another look.
     *
     * @param before the other look
     * @return a line for each thing that is new or larger, with both sizes
     */
    public SortedSet<String> grownSince(Leftovers before) {
        SortedSet<String> grown = new TreeSet<>();
        Collection<String> known = new HashSet<>(before.things);
        for (String thing : things) {
            long size = sizes.getOrDefault(thing, 0L);
            long old = before.sizes.getOrDefault(thing, 0L);
            if (!known.contains(thing) || size > old) {
                grown.add(thing + " (size " + size + (known.contains(thing) ? ", before " + old : ", new") + ")");
            }
        }
        return grown;
    }
}
