package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.Cell;
import io.github.distributedsemaphore.benchmarks.cells.ConsulCells;
import io.github.distributedsemaphore.benchmarks.run.Backend;
import io.github.distributedsemaphore.benchmarks.servers.ConsulServers;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/** Measures the backend for Consul. */
@Command(
        name = "consul",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures the Consul backend beside the algorithm of HashiCorp's semaphore guide and beside two bare commits, against"
                    + " a consul agent in development mode and against three servers, which it starts and ends itself. What is"
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
final class ConsulCommand extends CellsCommand {
    /** For picocli. */
    ConsulCommand() {
        super(new Consul(), ConsulCells.all(), Main.class);
    }

    private static final class Consul implements Backend {
        @Override
        public String name() {
            return "consul";
        }

        @Override
        public String workUnit() {
            return "commits";
        }

        @Override
        public MeasuredServer start(Cell cell, Path folder) {
            return new ConsulServers(folder, ConsulCells.serversOf(cell));
        }
    }
}
