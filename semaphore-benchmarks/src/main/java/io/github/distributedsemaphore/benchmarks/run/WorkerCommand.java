package io.github.distributedsemaphore.benchmarks.run;

import com.google.gson.Gson;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.contestants.Contestant;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** One of the processes under measurement: follows the commands on its standard input, and ends with it. */
@Command(name = "worker", hidden = true, description = "For ./bench redis.")
public final class WorkerCommand implements Runnable {
    private final BiFunction<Variant, String, Contestant> contestants;
    private final Gson gson = new Gson();
    private final Map<String, Seat> seats = new LinkedHashMap<>();
    private @Nullable Round round;

    /** For picocli. */
    WorkerCommand() {
        this(Contestant::open);
    }

    /**
     * Makes a worker.
     *
     * @param contestants opens who is measured, at a server
     */
    WorkerCommand(BiFunction<Variant, String, Contestant> contestants) {
        this.contestants = contestants;
    }

    private record Seat(Contestant contestant, HolderWatch watch) {}

    @Override
    public void run() {
        PrintStream answers = System.out;
        // Whatever a library prints must not be taken for an answer.
        System.setOut(System.err);
        try (BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = orders.readLine(); line != null; line = orders.readLine()) {
                answers.println(gson.toJson(answer(gson.fromJson(line, Order.class))));
                answers.flush();
            }
        } catch (IOException e) {
            throw new BrokenRunException("A worker lost the runner", e);
        }
    }

    private Answer answer(Order order) {
        try {
            return follow(order);
        } catch (InterruptedException | RuntimeException | Error e) {
            e.printStackTrace();
            return Answer.failed(e);
        }
    }

    private Answer follow(Order order) throws InterruptedException {
        switch (order.kind()) {
            case OPEN -> {
                Variant variant = Objects.requireNonNull(order.variant());
                Path file = Path.of(Objects.requireNonNull(order.watchFile()));
                Contestant contestant = contestants.apply(variant, Objects.requireNonNull(order.uri()));
                seats.put(variant.name(), new Seat(contestant, HolderWatch.open(file, variant)));
            }
            case PREPARE -> {
                Variant variant = Objects.requireNonNull(order.variant());
                Seat seat = Objects.requireNonNull(seats.get(variant.name()));
                round = new Round(variant, seat.contestant(), seat.watch(), order.process());
                round.prepare();
            }
            case GO -> {
                return new Answer(null, Objects.requireNonNull(round).run(order.millis()));
            }
            case CLOSE -> seats.values().forEach(seat -> seat.contestant().close());
        }
        return Answer.DONE;
    }
}
