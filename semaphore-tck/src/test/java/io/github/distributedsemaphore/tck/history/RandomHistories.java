package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Small histories: arbitrary ones, and ones that a correct semaphore could have made. */
final class RandomHistories {
    private static final int END = 24;

    private final Random random;

    RandomHistories(long seed) {
        this.random = new Random(seed);
    }

    /** Grants and releases at arbitrary instants in arbitrary slots: about half of them impossible. */
    History arbitrary() {
        int limit = 1 + random.nextInt(3);
        List<Operation> operations = new ArrayList<>();
        int grants = 2 + random.nextInt(3);
        for (int i = 0; i < grants; i++) {
            HeldSlot held = new HeldSlot(i, 1 + random.nextInt(limit), i);
            int[] at = random.ints(4, 0, END).sorted().toArray();
            operations.add(grant("p" + i, at[0], at[1], held));
            switch (random.nextInt(4)) {
                case 0 -> {}
                case 1 -> operations.add(release("p" + i, at[2], Operation.NEVER, Outcome.UNKNOWN, held));
                default -> operations.add(release("p" + i, at[2], at[3], Outcome.OK, held));
            }
        }
        return new History(limit, operations);
    }

    /** The same with attempts that were refused, some of them without a cause. */
    History withRefusals() {
        History history = arbitrary();
        List<Operation> operations = new ArrayList<>(history.operations());
        int refusals = 1 + random.nextInt(3);
        for (int i = 0; i < refusals; i++) {
            int[] at = random.ints(2, 0, END).sorted().toArray();
            int count = 1 + random.nextInt(history.limit());
            operations.add(operation("r" + i, Kind.TRY, at[0], at[1], Outcome.REFUSED, count, List.of()));
        }
        return new History(history.limit(), operations);
    }

    /** Everything at once: several permits in one call, epochs, refusals, and a limit that may change. */
    History mixed() {
        int limit = 1 + random.nextInt(3);
        List<Operation> operations = new ArrayList<>();
        int grants = 2 + random.nextInt(2);
        for (int i = 0; i < grants; i++) {
            List<HeldSlot> held = new ArrayList<>();
            for (int slot = 1 + random.nextInt(limit); slot <= limit && held.size() < 2; slot++) {
                held.add(new HeldSlot(10L * i + slot, slot, random.nextInt(grants)));
            }
            int[] at = random.ints(4, 0, END).sorted().toArray();
            operations.add(operation("p" + i, Kind.ACQUIRE, at[0], at[1], Outcome.OK, held.size(), held));
            if (random.nextInt(4) > 0) {
                operations.add(
                        new Operation("p" + i, Kind.RELEASE, at[2], at[3], Outcome.OK, held.size(), held, at[2]));
            }
        }
        if (random.nextBoolean()) {
            int[] at = random.ints(2, 0, END).sorted().toArray();
            int other = 1 + random.nextInt(3);
            operations.add(operation("admin", Kind.RESIZE, at[0], at[1], Outcome.OK, other, List.of()));
        }
        int[] at = random.ints(2, 0, END).sorted().toArray();
        operations.add(operation("r", Kind.TRY, at[0], at[1], Outcome.REFUSED, 1, List.of()));
        return new History(limit, operations);
    }

    /** What a correct semaphore did at single instants, seen through calls that begin before and return after them. */
    History correct() {
        int limit = 1 + random.nextInt(3);
        List<Operation> operations = new ArrayList<>();
        List<HeldSlot> held = new ArrayList<>();
        List<Integer> free = new ArrayList<>(
                java.util.stream.IntStream.rangeClosed(1, limit).boxed().toList());
        long epoch = 0;
        for (long now = 100; now < 1500; now += 1 + random.nextInt(60)) {
            Collections.shuffle(free, random);
            int count = 1 + random.nextInt(limit);
            boolean release = !held.isEmpty() && random.nextBoolean();
            if (release) {
                HeldSlot given = held.remove(random.nextInt(held.size()));
                free.add(given.slot());
                operations.add(
                        release("h" + given.hold(), before(now, given, operations), after(now), Outcome.OK, given));
            } else if (free.size() >= count) {
                List<HeldSlot> taken = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    taken.add(new HeldSlot(++epoch, free.remove(0), epoch));
                }
                held.addAll(taken);
                Kind kind = random.nextBoolean() ? Kind.TRY : Kind.ACQUIRE;
                operations.add(operation("g" + epoch, kind, before(now), after(now), Outcome.OK, count, taken));
            } else {
                operations.add(
                        operation("r" + now, Kind.TRY, before(now), after(now), Outcome.REFUSED, count, List.of()));
            }
        }
        return new History(limit, operations);
    }

    private long before(long now) {
        return now - random.nextInt(50);
    }

    /** A release is called after its acquire returned. */
    private long before(long now, HeldSlot held, List<Operation> operations) {
        long granted = operations.stream()
                .filter(operation -> operation.isGrant() && operation.slots().contains(held))
                .mapToLong(Operation::returned)
                .findFirst()
                .orElseThrow();
        return Math.min(now, Math.max(granted, before(now)));
    }

    private long after(long now) {
        return now + random.nextInt(50);
    }

    static Operation grant(String process, long invoked, long returned, HeldSlot held) {
        return operation(process, Kind.ACQUIRE, invoked, returned, Outcome.OK, 1, List.of(held));
    }

    static Operation release(String process, long invoked, long returned, Outcome outcome, HeldSlot held) {
        return new Operation(process, Kind.RELEASE, invoked, returned, outcome, 1, List.of(held), invoked);
    }

    static Operation operation(
            String process, Kind kind, long invoked, long returned, Outcome outcome, int count, List<HeldSlot> held) {
        return new Operation(process, kind, invoked, returned, outcome, count, held, Operation.NEVER);
    }
}
