package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.cli.admin.CreateCommand;
import io.github.distributedsemaphore.cli.admin.DestroyCommand;
import io.github.distributedsemaphore.cli.admin.GuaranteesCommand;
import io.github.distributedsemaphore.cli.admin.ResizeCommand;
import io.github.distributedsemaphore.cli.admin.StatusCommand;
import io.github.distributedsemaphore.cli.common.ErrorLine;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.demo.DemoCommand;
import io.github.distributedsemaphore.cli.live.ListCommand;
import io.github.distributedsemaphore.cli.live.TopCommand;
import io.github.distributedsemaphore.cli.live.UiCommand;
import io.github.distributedsemaphore.cli.run.RunCommand;
import io.github.distributedsemaphore.cli.tck.TckCommand;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import picocli.CommandLine;

/** Where the {@code semaphore} command starts, and the list of its commands. */
public final class Main {
    /** In the order of the help. */
    private static final Map<String, Supplier<Object>> COMMANDS = commands();

    /** Those that go on until somebody has seen enough, and the one whose output is another program's. */
    private static final Set<String> WITHOUT_RESULT = Set.of("top", "ui", "run");

    private Main() {}

    /**
     * Runs one command and ends the process with its {@linkplain ExitCodes exit code}.
     *
     * @param args the words after {@code semaphore}
     */
    public static void main(String[] args) {
        CommandLine line = commandLine(args);
        int code = line.execute(args);
        // A stream for printing keeps its failures to itself, and a script would take what is cut off for all there is.
        if (code == ExitCodes.OK && hasResult(args) && System.out.checkError()) {
            ErrorLine.print(line.getErr(), "standard output cannot be written, or not all of it was");
            code = ExitCodes.UNEXPECTED;
        }
        System.exit(code);
    }

    /**
     * Returns what reads a command line.
     *
     * @param words the words to be read. If they name a command it is the only one that is loaded: a run is short, and finding out
     *     what eleven commands take costs it a noticeable part of its time
     */
    static CommandLine commandLine(String... words) {
        String named = commandOf(words);
        Map<String, Object> loaded = new LinkedHashMap<>();
        COMMANDS.forEach((name, command) -> {
            if (name.equals(named) || !COMMANDS.containsKey(named)) {
                loaded.put(name, command.get());
            }
        });
        return SemaphoreCommand.commandLine(loaded);
    }

    /** Finds the first word that is no option and no option's value; empty if there is none. */
    private static String commandOf(String... words) {
        int i = 0;
        while (i < words.length && words[i].startsWith("-")) {
            i += words[i].equals("--backend") ? 2 : 1;
        }
        return i < words.length ? words[i] : "";
    }

    private static boolean hasResult(String... words) {
        // With it "top" ends by itself.
        return !WITHOUT_RESULT.contains(commandOf(words)) || List.of(words).contains("--once");
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
        return commands;
    }
}
