package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.RoundReport;
import io.github.distributedsemaphore.benchmarks.cells.RunSettings;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.IntStream;

/** The worker processes of a cell. For one thread. */
final class Crew implements AutoCloseable {
    private final List<WorkerProcess> workers;

    Crew(int processes, RunSettings settings) {
        workers = IntStream.range(0, processes)
                .mapToObj(number -> new WorkerProcess(number, settings))
                .toList();
    }

    void open(Variant variant, String uri, Path watchFile) {
        all(worker -> Order.open(worker.number(), variant, uri, watchFile.toString()), 0);
    }

    /** Has all processes begin at the same time, and waits for the last. */
    List<RoundReport> round(Variant variant, long millis) {
        all(worker -> Order.prepare(worker.number(), variant), 0);
        return all(worker -> Order.go(worker.number(), millis), millis).stream()
                .map(answer -> Objects.requireNonNull(answer.report()))
                .toList();
    }

    private List<Answer> all(Function<WorkerProcess, Order> order, long millis) {
        workers.forEach(worker -> worker.tell(order.apply(worker)));
        return workers.stream().map(worker -> worker.await(millis)).toList();
    }

    /** Ends the processes in order, so that what they hold is given back. */
    void disband() {
        all(worker -> Order.close(worker.number()), 0);
    }

    @Override
    public void close() {
        workers.forEach(WorkerProcess::close);
    }
}
