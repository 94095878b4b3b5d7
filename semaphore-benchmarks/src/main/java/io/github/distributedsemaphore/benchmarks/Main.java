package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.run.WorkerCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Where {@code ./bench} starts. */
@Command(
        name = "./bench",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Measures this library beside others.",
        subcommands = {
            RedisCommand.class,
            ConsulCommand.class,
            PostgresCommand.class,
            RabbitCommand.class,
            EngineCommand.class,
            RunCostCommand.class,
            ScaleCommand.class,
            WorkerCommand.class
        })
public final class Main implements Runnable {
    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    /** For picocli. */
    public Main() {}

    /**
     * Runs one command and ends the process: with 0 when it could measure, with 1 when the run was broken and has no figures,
     * with 2 when it was called wrongly.
     *
     * @param args the words after {@code ./bench}
     */
    public static void main(String[] args) {
        System.exit(commandLine(new Main()).execute(args));
    }

    static CommandLine commandLine(Runnable command) {
        return new CommandLine(command).setUsageHelpWidth(100).setExecutionExceptionHandler(Main::failed);
    }

    private static int failed(Exception failure, CommandLine command, CommandLine.ParseResult parsed) {
        if (failure instanceof BrokenRunException) {
            command.getErr().println("bench: broken, and therefore without figures: " + failure.getMessage());
        } else {
            failure.printStackTrace(command.getErr());
        }
        command.getErr().flush();
        return 1;
    }

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(), "a command is missing");
    }
}
