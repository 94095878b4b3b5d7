package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.CommandFailure;
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
        name = "destroy",
        description = {
            "Removes a semaphore.",
            "Calls that wait for it end with an error. Holders keep their slots until they release them."
        })
public final class DestroyCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "the semaphore")
    private String name;

    @Option(names = "--wait", paramLabel = "D", description = RemovedSlots.WAIT_HELP)
    private @Nullable Duration wait;

    @Override
    public Integer call() throws InterruptedException {
        try (SemaphoreClient client = semaphore.connect()) {
            if (!client.admin().destroy(name) && !isToAwait(client.admin())) {
                throw new CommandFailure(
                        ExitCodes.NO_SUCH_SEMAPHORE, "there is no semaphore '" + name + "': nothing to destroy");
            }
            RemovedSlots.await(client.admin(), name, wait, "it is destroyed");
        }
        spec.commandLine().getOut().println("destroyed " + name);
        return ExitCodes.OK;
    }

    /** An earlier call may have destroyed it, and given up its wait or not learned what it had done. */
    private boolean isToAwait(SemaphoreAdmin admin) throws InterruptedException {
        return wait != null && !admin.awaitReleased(name, Duration.ZERO);
    }
}
