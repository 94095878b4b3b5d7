package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

@Command(
        name = "create",
        description = {
            "Creates a semaphore.",
            "If it exists with that limit, that is fine; if it has another one, nothing is changed."
        })
public final class CreateCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "the semaphore")
    private String name;

    @Parameters(index = "1", paramLabel = "LIMIT", description = "how many permits may be held at once")
    private int limit;

    @Override
    public Integer call() {
        try (SemaphoreClient client = semaphore.connect()) {
            boolean created = client.admin().create(name, limit);
            spec.commandLine()
                    .getOut()
                    .println(
                            created
                                    ? "created " + name + ", limit " + limit
                                    : name + " has limit " + limit + " already");
        }
        return ExitCodes.OK;
    }
}
