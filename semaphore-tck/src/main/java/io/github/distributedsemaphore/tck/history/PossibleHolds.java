package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;

/** How many permits may have been held when. A hold counts at both ends of its time. */
final class PossibleHolds {
    private final long[] instants;
    private final int[] countAt;
    private final int[] countAfter;

    PossibleHolds(List<Interval> intervals) {
        List<long[]> edges = new ArrayList<>();
        for (Interval interval : intervals) {
            edges.add(new long[] {interval.possibleFrom(), 0});
            edges.add(new long[] {interval.possibleTo(), 1});
        }
        edges.sort(Comparator.<long[]>comparingLong(edge -> edge[0]).thenComparingLong(edge -> edge[1]));
        instants = edges.stream().mapToLong(edge -> edge[0]).distinct().toArray();
        countAt = new int[instants.length];
        countAfter = new int[instants.length];
        int now = 0;
        int index = 0;
        for (int i = 0; i < instants.length; i++) {
            int ending = 0;
            for (; index < edges.size() && edges.get(index)[0] == instants[i]; index++) {
                if (edges.get(index)[1] == 0) {
                    now++;
                } else {
                    ending++;
                }
            }
            countAt[i] = now;
            now -= ending;
            countAfter[i] = now;
        }
    }

    LongStream changes() {
        return Arrays.stream(instants);
    }

    int at(long instant) {
        int found = Arrays.binarySearch(instants, instant);
        if (found >= 0) {
            return countAt[found];
        }
        int before = -found - 2;
        return before < 0 ? 0 : countAfter[before];
    }

    int mostWithin(long from, long to) {
        int most = Math.max(at(from), at(to));
        int found = Arrays.binarySearch(instants, from);
        for (int i = found >= 0 ? found : -found - 1; i < instants.length && instants[i] <= to; i++) {
            most = Math.max(most, countAt[i]);
        }
        return most;
    }
}
