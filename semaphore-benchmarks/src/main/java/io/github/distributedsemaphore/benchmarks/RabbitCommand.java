package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.RabbitCells;
import io.github.distributedsemaphore.benchmarks.run.Backend;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.RabbitProcess;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/** Measures the backend for RabbitMQ. */
@Command(
        name = "rabbitmq",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures the RabbitMQ backend beside the algorithm of the persistent semaphore's specification and beside bare requests,"
                    + " against a broker that it starts and ends itself. What is compared runs in turn, in each of several rounds,"
                    + " warm; the targets of a cell are judged by the median over the rounds. Holders and epochs are counted"
                    + " meanwhile: a run in which a promise is broken prints no figures."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:measured, whether the targets were reached or not",
            "1:the run was broken and has no figures",
            "2:called wrongly"
        })
final class RabbitCommand extends CellsCommand {
    /** For picocli. */
    RabbitCommand() {
        super(new Rabbit(), RabbitCells.all(), Main.class);
    }

    private static final class Rabbit implements Backend {
        @Override
        public String name() {
            return "rabbitmq";
        }

        @Override
        public String workUnit() {
            return "commands (not counted)";
        }

        @Override
        public MeasuredServer start(Cell cell, Path folder) {
            return new RabbitProcess(folder);
        }
    }
}
