package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.ErrorLine;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

@Command(name = "guarantees", description = "Shows what the backend promises under the settings in its URI.")
public final class GuaranteesCommand implements Callable<Integer> {
    private static final Duration ANSWER = Duration.ofSeconds(10);

    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        try (SemaphoreClient client = semaphore.connect()) {
            askFirst(client);
            Guarantees guarantees = client.guarantees();
            spec.commandLine().getOut().println(GuaranteesText.of(guarantees));
        }
        return ExitCodes.OK;
    }

    /** Some promises depend on the server, such as whether its data survive a restart. The others hold without it. */
    private void askFirst(SemaphoreClient client) throws InterruptedException {
        try {
            client.ping(ANSWER);
        } catch (BackendUnavailableException e) {
            ErrorLine.print(
                    spec.commandLine().getErr(),
                    "what depends on the server is not known, for it does not answer: " + e.getMessage());
        }
    }
}
