package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.SemaphoreClient;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

@Command(name = "guarantees", description = "Shows what the backend promises under the settings in its URI.")
final class GuaranteesCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Override
    public Integer call() {
        try (SemaphoreClient client = semaphore.connect()) {
            Guarantees guarantees = client.guarantees();
            spec.commandLine().getOut().println(GuaranteesText.of(guarantees));
        }
        return ExitCodes.OK;
    }
}
