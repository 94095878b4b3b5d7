package io.github.distributedsemaphore.cli.demo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Everything that the workers reported. Does not use the library, whose promises it checks. Thread-safe. */
final class Ledger {
    private final List<Turn> ended = new ArrayList<>();
    private final Map<Integer, Turn> open = new LinkedHashMap<>();
    private final List<Long> waits = new ArrayList<>();
    private final Set<Integer> ready = new TreeSet<>();
    private final Set<Integer> waiting = new TreeSet<>();
    private final List<String> failures = new ArrayList<>();
    private @Nullable Turn killed;

    synchronized void record(int worker, WorkerEvent event) {
        switch (event.kind()) {
            case READY -> ready.add(worker);
            case WAITING -> waiting.add(worker);
            case GRANTED -> {
                waiting.remove(worker);
                waits.add(event.waitedNanos());
                open.put(worker, new Turn(worker, event.slot(), event.epoch(), event.at(), Turn.OPEN));
            }
            case RELEASING -> end(worker, event.at());
            case FAILED -> failures.add("worker " + worker + " failed: " + event.message());
        }
    }

    private Optional<Turn> end(int worker, long at) {
        Turn turn = open.remove(worker);
        if (turn == null) {
            return Optional.empty();
        }
        ended.add(turn.endedAt(at));
        return Optional.of(turn.endedAt(at));
    }

    /** Notes that a holder was killed. The instant is one before the kill: until then it surely held its slot. */
    synchronized void killed(int worker, long at) {
        waiting.remove(worker);
        end(worker, at).ifPresent(turn -> killed = turn);
    }

    synchronized int readyWorkers() {
        return ready.size();
    }

    synchronized List<Integer> waiting() {
        return List.copyOf(waiting);
    }

    synchronized Optional<Turn> heldBy(int worker) {
        return Optional.ofNullable(open.get(worker));
    }

    synchronized List<String> failures() {
        return List.copyOf(failures);
    }

    /** What the killed holder held; it ends with the kill. Empty while nobody was killed who held something. */
    synchronized Optional<Turn> killed() {
        return Optional.ofNullable(killed);
    }

    synchronized List<Long> waits() {
        return List.copyOf(waits);
    }

    /** All turns, those not ended included, in the order of their beginning. */
    synchronized List<Turn> turns() {
        List<Turn> turns = new ArrayList<>(ended);
        turns.addAll(open.values());
        turns.sort((a, b) -> Long.compare(a.from(), b.from()));
        return turns;
    }

    /** The first turn in the killed holder's slot after its death. */
    synchronized Optional<Turn> takeover() {
        return killed().flatMap(dead -> turns().stream()
                .filter(turn -> turn.slot() == dead.slot() && turn.from() > dead.until())
                .findFirst());
    }
}
