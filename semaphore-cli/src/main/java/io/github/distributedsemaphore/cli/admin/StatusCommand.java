package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.cli.common.CommandFailure;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.StatusJson;
import io.github.distributedsemaphore.cli.live.ListCommand;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

@Command(name = "status", description = "Shows a semaphore, or all of them, and who holds which slot since when.")
public final class StatusCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(index = "0", arity = "0..1", paramLabel = "NAME", description = "the semaphore; default: all of them")
    private @Nullable String name;

    @Option(
            names = "--json",
            description = "print {\"name\",\"limit\",\"free\",\"holders\":[{\"slot\",\"epoch\",\"host\",\"pid\","
                    + "\"label\",\"since\",\"state\"}]}, without NAME an array of these; since is null and host"
                    + " empty where the holder did not tell")
    private boolean json;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (SemaphoreClient client = semaphore.connect()) {
            if (name != null) {
                SemaphoreDescription found = describe(client.admin(), name);
                out.println(json ? StatusJson.of(found) : StatusText.of(found));
            } else {
                ListCommand.showAll(
                        client,
                        client.admin()::describe,
                        found -> out.println(json ? StatusJson.of(found) : StatusText.of(found)));
            }
        }
        return ExitCodes.OK;
    }

    private static SemaphoreDescription describe(SemaphoreAdmin admin, String name) {
        return admin.describe(name)
                .orElseThrow(() -> new CommandFailure(
                        ExitCodes.NO_SUCH_SEMAPHORE,
                        "there is no semaphore '" + name + "'; make it with 'semaphore create NAME LIMIT'"));
    }
}
