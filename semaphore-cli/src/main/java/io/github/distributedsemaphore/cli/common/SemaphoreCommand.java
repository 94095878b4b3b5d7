package io.github.distributedsemaphore.cli.common;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
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
                .setExecutionStrategy(SemaphoreCommand::execute)
                .setUsageHelpWidth(100);
        line.getSubcommands().forEach((name, command) -> describeExitCodes(command, name));
        describeExitCodes(line, "");
        return line;
    }

    private static int execute(ParseResult parsed) {
        refuseOtherText(parsed);
        return new CommandLine.RunLast().execute(parsed);
    }

    /** Two names would be one, and the command of a run would get another argument than it was given. */
    private static void refuseOtherText(ParseResult parsed) {
        List<CommandLine> named = parsed.asCommandLineList();
        List<String> words = parsed.originalArgs();
        int dashes = words.indexOf("--");
        for (int i = 0; i < words.size(); i++) {
            if (isOtherText(words.get(i)) && !isBackend(words.get(i), named.get(0))) {
                String wayOut = dashes >= 0 && i > dashes
                        ? ": pass it to the command in a variable of the environment, or in a file"
                        : "";
                throw new ParameterException(
                        named.get(named.size() - 1),
                        "'" + words.get(i) + "' has bytes that are no text in this locale, or U+FFFD" + wayOut);
            }
        }
    }

    /** A JVM reads each byte that is no text as this one character; {@code bin/semaphore} gives it a locale in which that is so. */
    private static boolean isOtherText(String word) {
        return word.indexOf('\uFFFD') >= 0;
    }

    /** What may hold a password is not shown: {@link #backend} refuses it. */
    private static boolean isBackend(String word, CommandLine semaphore) {
        return semaphore.getCommand() instanceof SemaphoreCommand it
                && it.backend != null
                && isOtherText(it.backend)
                && word.endsWith(it.backend);
    }

    private static void describeExitCodes(CommandLine command, String name) {
        ExitCodes.addToHelp(command.getCommandSpec().usageMessage(), name);
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Which command? " + commandNames());
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
     * @throws ParameterException if it has bytes that are no text
     */
    public String backend() {
        // Not as a default value of the option: in that picocli replaces $$ and ${.
        String variable = System.getenv("SEMAPHORE_BACKEND");
        String uri = backend != null ? backend : variable != null ? variable : DEFAULT_BACKEND;
        if (isOtherText(uri)) {
            throw new ParameterException(
                    spec.commandLine(),
                    "The URI of the backend has bytes that are no text in this locale: percent-encode them, as UTF-8");
        }
        return uri;
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
