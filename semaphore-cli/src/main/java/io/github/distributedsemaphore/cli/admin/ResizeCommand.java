package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "resize",
        description = {
            "Changes the limit of a semaphore.",
            "A lower limit removes the highest slots. No client can take them any more, and their holders keep them until release."
        })
public final class ResizeCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "the semaphore")
    private String name;

    @Parameters(index = "1", paramLabel = "LIMIT", description = "how many permits from now on")
    private int limit;

    @Option(names = "--wait", paramLabel = "D", description = RemovedSlots.WAIT_HELP)
    private @Nullable Duration wait;

    @Override
    public Integer call() throws InterruptedException {
        try (SemaphoreClient client = semaphore.connect()) {
            client.admin().resize(name, limit);
            RemovedSlots.await(client.admin(), name, wait, "limit is now " + limit);
        }
        spec.commandLine().getOut().println(name + " has limit " + limit + " now");
        return ExitCodes.OK;
    }
}
