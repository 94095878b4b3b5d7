package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntFunction;

/**
 * Somebody else holds all slots but one, which is another one each time and which the contestant has not seen free: before
 * each acquire, and not as part of it, it has been told that there is none. Beside this library the somebody does what it does
 * to be counted, see docs/internals/rabbitmq.md; the specification knows nothing of that.
 */
final class OneFreeContestant implements Contestant {
    /** So many slots are counted together. */
    private static final int BLOCK = 128;

    private final Contestant searching;
    private final Runnable forget;
    private final AmqpQueues others;
    private final IntFunction<String> holds;
    private final IntFunction<Optional<String>> counts;
    private final Map<Integer, String> counted = new HashMap<>();
    private final int limit;

    private OneFreeContestant(
            Variant variant,
            String uri,
            Contestant searching,
            Runnable forget,
            IntFunction<String> holds,
            IntFunction<Optional<String>> counts) {
        this.searching = searching;
        this.forget = forget;
        this.holds = holds;
        this.counts = counts;
        this.limit = variant.limit();
        this.others = new AmqpQueues(uri);
        for (int slot = 1; slot <= limit; slot++) {
            hold(slot);
        }
        freeAny();
    }

    private boolean hold(int slot) {
        boolean declared = others.declare(holds.apply(slot));
        counts.apply(slot).ifPresent(queue -> counted.put(slot, others.consume(queue)));
        return declared;
    }

    /** The specification's search, which remembers nothing. */
    static OneFreeContestant ofSpecification(Variant variant, String uri) {
        return new OneFreeContestant(
                variant,
                uri,
                new SpecificationContestant(variant, uri),
                () -> {},
                slot -> SpecificationContestant.hold(variant, slot),
                slot -> Optional.empty());
    }

    /** This library. */
    static OneFreeContestant ofSemaphore(Variant variant, String uri) {
        // A busy broker takes a while to make a thousand slots.
        SemaphoreContestant contestant = new SemaphoreContestant(variant, uri + "?timeout=60s");
        SemaphoreClient client = contestant.client();
        Runnable forget = () -> {
            if (client.semaphore(variant.semaphore(0))
                    .tryAcquire()
                    .map(OneFreeContestant::giveBack)
                    .isPresent()) {
                throw new BrokenRunException("a slot was free although all are held");
            }
        };
        String prefix = "sem:" + variant.semaphore(0);
        return new OneFreeContestant(
                variant,
                uri,
                contestant,
                forget,
                slot -> prefix + ":b:" + slot,
                slot -> Optional.of(prefix + ":n:" + Math.min(variant.limit(), (slot + BLOCK - 1) / BLOCK * BLOCK)));
    }

    private static boolean giveBack(Permit permit) {
        permit.close();
        return true;
    }

    private void freeAny() {
        forget.run();
        int slot = 1 + ThreadLocalRandom.current().nextInt(limit);
        Optional.ofNullable(counted.remove(slot)).ifPresent(others::cancel);
        others.delete(holds.apply(slot));
    }

    @Override
    public Pass acquire(int thread, int name) throws InterruptedException {
        Pass pass = searching.acquire(thread, name);
        return new Pass(pass.slot(), pass.epoch(), () -> {
            pass.giveBack().run();
            if (!hold(pass.slot())) {
                throw new BrokenRunException("a slot that was given back is not free");
            }
            freeAny();
        });
    }

    @Override
    public void close() {
        searching.close();
        others.close();
    }
}
