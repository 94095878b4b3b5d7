package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.SemaphoreClient;
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
            "Changes how many may hold a semaphore at once.",
            "Fewer slots remove the highest ones: nobody gets them any more, and whoever holds one keeps it until they"
                    + " release it."
        })
final class ResizeCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "the semaphore")
    private String name;

    @Parameters(index = "1", paramLabel = "SLOTS", description = "how many from now on")
    private int slots;

    @Option(names = "--wait", paramLabel = "D", description = RemovedSlots.WAIT_HELP)
    private @Nullable Duration wait;

    @Override
    public Integer call() throws InterruptedException {
        try (SemaphoreClient client = semaphore.connect()) {
            client.admin().resize(name, slots);
            RemovedSlots.await(client.admin(), name, wait, "limit is now " + slots);
        }
        spec.commandLine().getOut().println(name + " has limit " + slots + " now");
        return ExitCodes.OK;
    }
}
