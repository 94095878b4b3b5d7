package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What several processes did with one semaphore. Immutable.
 *
 * @param limit the limit at the beginning
 * @param operations what they did, in the order of the calls
 */
public record History(int limit, List<Operation> operations) {
    /**
     * Sorts and keeps an unmodifiable copy.
     *
     * @param limit see the record
     * @param operations see the record, in any order
     */
    public History {
        operations = operations.stream()
                .sorted(Comparator.comparingLong(Operation::invoked).thenComparingLong(Operation::returned))
                .toList();
    }

    /**
     * Joins with what other processes did with the same semaphore in the same time. The numbers of the holds must not
     * collide.
     *
     * @param other their history
     * @return both
     */
    public History with(History other) {
        List<Operation> all = new ArrayList<>(operations);
        all.addAll(other.operations);
        return new History(limit, all);
    }

    /**
     * Reads a history.
     *
     * @param lines {@code limit N}, then an operation a line; empty lines and those that begin with a {@code #} are left
     *     out
     * @return the history
     */
    public static History parse(List<String> lines) {
        int limit = 0;
        List<Operation> operations = new ArrayList<>();
        for (String line : lines) {
            if (line.startsWith("limit ")) {
                limit = Integer.parseInt(line.substring("limit ".length()).trim());
            } else if (!line.isBlank() && !line.startsWith("#")) {
                operations.add(Operation.parse(line));
            }
        }
        return new History(limit, operations);
    }

    /**
     * Writes it so that {@link #parse} reads it.
     *
     * @return the lines
     */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("limit " + limit);
        operations.forEach(operation -> lines.add(operation.line()));
        return lines;
    }
}
