package io.github.distributedsemaphore.cli.common;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The word before the commands, and what is common to them: the backend. */
@Command(
        name = "semaphore",
        versionProvider = Version.class,
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        synopsisSubcommandLabel = "COMMAND",
        sortOptions = false,
        description = "A semaphore over processes and hosts: at most LIMIT permits of a NAME are held.",
        footerHeading = "%nExamples:%n",
        footer = {
            "  semaphore create exports 3",
            "  semaphore run exports --wait 10m -- ./export.sh --full",
            "  semaphore status exports",
            "  semaphore top"
        })
public final class SemaphoreCommand implements Runnable {
    /** What stands in place of a list without entries. */
    public static final String NONE = "no semaphores; make one with 'semaphore create NAME LIMIT'";

    private static final String DEFAULT_BACKEND = "local:";

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--backend",
            paramLabel = "URI",
            scope = ScopeType.INHERIT,
            description = "where the semaphores are, such as local:/var/lib/semaphores; default: the environment"
                    + " variable SEMAPHORE_BACKEND, else " + DEFAULT_BACKEND
                    + ". A URI with a password belongs into the variable: other users can read a command line")
    private @Nullable String backend;

    @Option(
            names = "--verbose",
            scope = ScopeType.INHERIT,
            description = "on an error print where it came from as well, and what the libraries log")
    private boolean verbose;

    /** For picocli. */
    public SemaphoreCommand() {}

    /**
     * Returns what reads a command line.
     *
     * @param commands by their names, in the order of the help
     * @return ready to execute
     */
    public static CommandLine commandLine(Map<String, ?> commands) {
        CommandLine line = new CommandLine(new SemaphoreCommand());
        commands.values().forEach(line::addSubcommand);
        ErrorLine errors = new ErrorLine();
        line.setExecutionExceptionHandler(errors)
                .setParameterExceptionHandler(errors)
                .registerConverter(Duration.class, new DurationConverter())
                // What follows "--" belongs to another program, down to a leading @.
                .setExpandAtFiles(false)
                .setUsageHelpWidth(100);
        line.getSubcommands().forEach((name, command) -> describeExitCodes(command, name));
        describeExitCodes(line, "");
        return line;
    }

    private static void describeExitCodes(CommandLine command, String name) {
        ExitCodes.addToHelp(command.getCommandSpec().usageMessage(), name);
    }

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(), "Which command? " + commandNames());
    }

    private String commandNames() {
        return String.join(
                ", ",
                spec.subcommands().entrySet().stream()
                        .filter(entry -> !entry.getValue()
                                .getCommandSpec()
                                .usageMessage()
                                .hidden())
                        .map(Map.Entry::getKey)
                        .toList());
    }

    /**
     * Returns the backend.
     *
     * @return its URI as it was given; may hold a password
     */
    public String backend() {
        if (backend != null) {
            return backend;
        }
        // Not as a default value of the option: in that picocli replaces $$ and ${.
        String variable = System.getenv("SEMAPHORE_BACKEND");
        return variable == null ? DEFAULT_BACKEND : variable;
    }

    /**
     * Connects to the backend.
     *
     * @return the client; the caller closes it
     */
    public SemaphoreClient connect() {
        return builder().connect();
    }

    /**
     * Prepares to connect to the backend.
     *
     * @return settings may be added to it
     */
    public SemaphoreClientBuilder builder() {
        if (verbose) {
            // Read once, by the first logger: nothing has logged so far.
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
        }
        return SemaphoreClient.builder(backend());
    }

    /**
     * Tells whether the user asked for more than one line about an error.
     *
     * @param command the command that runs
     * @return {@code --verbose}
     */
    public static boolean isVerbose(CommandLine command) {
        return command.getCommandSpec().root().userObject() instanceof SemaphoreCommand root && root.verbose;
    }
}
