package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.ArrayList;
import java.util.List;

/** No semaphore: the bare requests that one cannot do without, on a connection of each thread's own. */
final class RequestsContestant implements Contestant {
    private final List<AmqpQueues> connections = new ArrayList<>();
    private final String queue;
    private final boolean declares;

    /**
     * Connects.
     *
     * @param declares whether an exclusive queue is declared before the message and its confirm, and deleted afterwards
     */
    RequestsContestant(Variant variant, String uri, boolean declares) {
        this.queue = variant.semaphore(0) + "-" + ProcessHandle.current().pid() + "-";
        this.declares = declares;
        for (int thread = 0; thread < variant.threads(); thread++) {
            connections.add(new AmqpQueues(uri));
            connections.get(thread).make(queue + thread + "-A");
        }
    }

    @Override
    public Pass acquire(int thread, int name) {
        AmqpQueues queues = connections.get(thread);
        if (!declares) {
            queues.exists(queue + thread + "-A");
            return Pass.withoutSlot(() -> {});
        }
        queues.declare(queue + thread + "-B");
        queues.exists(queue + thread + "-A");
        return Pass.withoutSlot(() -> queues.delete(queue + thread + "-B"));
    }

    @Override
    public void close() {
        connections.forEach(AmqpQueues::close);
    }
}
