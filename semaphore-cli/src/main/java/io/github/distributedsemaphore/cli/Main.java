package io.github.distributedsemaphore.cli;

/** Where the {@code semaphore} command starts. */
public final class Main {
    private Main() {}

    /**
     * Runs one command and ends the process with its {@linkplain ExitCodes exit code}.
     *
     * @param args the words after {@code semaphore}
     */
    public static void main(String[] args) {
        System.exit(SemaphoreCommand.commandLine(args).execute(args));
    }
}
