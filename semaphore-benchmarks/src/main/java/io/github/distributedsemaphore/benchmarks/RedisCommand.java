package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.RedisCells;
import io.github.distributedsemaphore.benchmarks.run.Backend;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;

/** Measures the backend for Redis. */
@Command(
        name = "redis",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures the Redis backend beside Redisson and beside bare commands, against a redis-server that it starts"
                    + " and ends itself. What is compared runs in turn, in each of several rounds, warm; the targets of a"
                    + " cell are judged by the median of the ratios within the rounds. Holders and epochs are counted"
                    + " meanwhile: a run in which a promise is broken prints no figures."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:measured, whether the targets were reached or not",
            "1:the run was broken and has no figures",
            "2:called wrongly"
        })
final class RedisCommand extends CellsCommand {
    /** For picocli. */
    RedisCommand() {
        this(RedisCells.all(), Main.class);
    }

    /**
     * Makes the command.
     *
     * @param all what can be measured
     * @param workerMain the class that a worker starts with
     */
    RedisCommand(List<Cell> all, Class<?> workerMain) {
        super(new Redis(), all, workerMain);
    }

    private static final class Redis implements Backend {
        @Override
        public String name() {
            return "redis";
        }

        @Override
        public String workUnit() {
            return "commands";
        }

        @Override
        public MeasuredServer start(Cell cell, Path folder) {
            return new RedisProcess(folder);
        }
    }
}
