package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.PostgresCells;
import io.github.distributedsemaphore.benchmarks.run.Backend;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.PostgresProcess;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/** Measures the backend for PostgreSQL. */
@Command(
        name = "postgresql",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures the PostgreSQL backend beside two bare UPDATEs that commit and beside a semaphore of polled advisory locks, against"
                    + " a server with its defaults, which it starts and ends itself. What is"
                    + " compared runs in turn, in each of several rounds, warm; the targets of a cell are judged by the median"
                    + " over the rounds. Holders and epochs are counted meanwhile: a run in which a promise is broken prints"
                    + " no figures."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:measured, whether the targets were reached or not",
            "1:the run was broken and has no figures",
            "2:called wrongly"
        })
final class PostgresCommand extends CellsCommand {
    /** For picocli. */
    PostgresCommand() {
        super(new Postgres(), PostgresCells.all(), Main.class);
    }

    private static final class Postgres implements Backend {
        @Override
        public String name() {
            return "postgresql";
        }

        @Override
        public String workUnit() {
            return "writing transactions";
        }

        @Override
        public MeasuredServer start(Cell cell, Path folder) {
            return new PostgresProcess(folder, 200, PostgresProcess.Counted.WRITES);
        }
    }
}
