package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntFunction;

/**
 * Somebody else holds all slots but one, which is another one each time and which the contestant has not seen free: before
 * each acquire, and not as part of it, it has been told that there is none.
 */
final class OneFreeContestant implements Contestant {
    private final Contestant searching;
    private final Runnable forget;
    private final AmqpQueues others;
    private final IntFunction<String> holds;
    private final int limit;

    private OneFreeContestant(
            Variant variant, String uri, Contestant searching, Runnable forget, IntFunction<String> holds) {
        this.searching = searching;
        this.forget = forget;
        this.holds = holds;
        this.limit = variant.limit();
        this.others = new AmqpQueues(uri);
        for (int slot = 1; slot <= limit; slot++) {
            others.declare(holds.apply(slot));
        }
        freeAny();
    }

    /** The specification's search, which remembers nothing. */
    static OneFreeContestant ofSpecification(Variant variant, String uri) {
        return new OneFreeContestant(
                variant,
                uri,
                new SpecificationContestant(variant, uri),
                () -> {},
                slot -> SpecificationContestant.hold(variant, slot));
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
        return new OneFreeContestant(
                variant, uri, contestant, forget, slot -> "sem:" + variant.semaphore(0) + ":b:" + slot);
    }

    private static boolean giveBack(Permit permit) {
        permit.close();
        return true;
    }

    private void freeAny() {
        forget.run();
        others.delete(holds.apply(1 + ThreadLocalRandom.current().nextInt(limit)));
    }

    @Override
    public Pass acquire(int thread, int name) throws InterruptedException {
        Pass pass = searching.acquire(thread, name);
        return new Pass(pass.slot(), pass.epoch(), () -> {
            pass.giveBack().run();
            if (!others.declare(holds.apply(pass.slot()))) {
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
