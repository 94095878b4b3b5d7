package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.cli.demo.DemoCommand;
import io.github.distributedsemaphore.cli.demo.WorkerCommand;
import io.github.distributedsemaphore.cli.live.ListCommand;
import io.github.distributedsemaphore.cli.live.TopCommand;
import io.github.distributedsemaphore.cli.live.UiCommand;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
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

    /** In the order of the help. */
    private static final Map<String, Supplier<Object>> COMMANDS = commands();

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(
            names = "--backend",
            paramLabel = "URI",
            scope = ScopeType.INHERIT,
            defaultValue = "${env:SEMAPHORE_BACKEND:-" + DEFAULT_BACKEND + "}",
            showDefaultValue = CommandLine.Help.Visibility.NEVER,
            description = "where the semaphores are, such as local:/var/lib/semaphores; default: the environment"
                    + " variable SEMAPHORE_BACKEND, else " + DEFAULT_BACKEND
                    + ". A URI with a password belongs into the variable: other users can read a command line")
    private String backend = DEFAULT_BACKEND;

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
     * @param words the words to be read. If they name a command it is the only one that is loaded: a run is short, and finding out
     *     what twelve commands take costs it a noticeable part of its time
     */
    static CommandLine commandLine(String... words) {
        CommandLine line = new CommandLine(new SemaphoreCommand());
        Supplier<Object> named = COMMANDS.get(commandOf(words));
        (named == null ? COMMANDS.values() : List.of(named)).forEach(command -> line.addSubcommand(command.get()));
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

    /** Finds the first word that is no option and no option's value; empty if there is none. */
    private static String commandOf(String... words) {
        int i = 0;
        while (i < words.length && words[i].startsWith("-")) {
            i += words[i].equals("--backend") ? 2 : 1;
        }
        return i < words.length ? words[i] : "";
    }

    private static Map<String, Supplier<Object>> commands() {
        Map<String, Supplier<Object>> commands = new LinkedHashMap<>();
        commands.put("create", CreateCommand::new);
        commands.put("list", ListCommand::new);
        commands.put("status", StatusCommand::new);
        commands.put("top", TopCommand::new);
        commands.put("ui", UiCommand::new);
        commands.put("resize", ResizeCommand::new);
        commands.put("destroy", DestroyCommand::new);
        commands.put("run", RunCommand::new);
        commands.put("guarantees", GuaranteesCommand::new);
        commands.put("tck", TckCommand::new);
        commands.put("demo", DemoCommand::new);
        commands.put("demo-worker", WorkerCommand::new);
        return commands;
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
        return backend;
    }

    /**
     * Connects to the backend.
     *
     * @return the client; the caller closes it
     */
    public SemaphoreClient connect() {
        return builder().connect();
    }

    SemaphoreClientBuilder builder() {
        if (verbose) {
            // Read once, by the first logger: nothing has logged so far.
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "debug");
        }
        return SemaphoreClient.builder(backend);
    }

    static boolean isVerbose(CommandLine command) {
        return command.getCommandSpec().root().userObject() instanceof SemaphoreCommand root && root.verbose;
    }
}
