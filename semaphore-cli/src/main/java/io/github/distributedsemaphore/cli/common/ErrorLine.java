package io.github.distributedsemaphore.cli.common;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.io.PrintWriter;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Turns whatever went wrong into one line on standard error and an exit code. */
public final class ErrorLine implements IExecutionExceptionHandler, IParameterExceptionHandler {
    private static final Map<Class<? extends SemaphoreException>, Integer> CODES = Map.of(
            BackendUnavailableException.class, ExitCodes.UNAVAILABLE,
            OutcomeUnknownException.class, ExitCodes.OUTCOME_UNKNOWN,
            BackendAccessException.class, ExitCodes.ACCESS_REFUSED,
            IncompatibleStateException.class, ExitCodes.INCOMPATIBLE_STATE,
            NoSuchSemaphoreException.class, ExitCodes.NO_SUCH_SEMAPHORE,
            LimitConflictException.class, ExitCodes.OTHER_LIMIT,
            SemaphoreTimeoutException.class, ExitCodes.NO_SLOT_IN_TIME,
            SemaphoreClosedException.class, ExitCodes.UNEXPECTED);

    @Override
    public int handleParseException(ParameterException failure, String[] args) {
        CommandLine command = failure.getCommandLine();
        String name = command.getCommandSpec().qualifiedName();
        print(command.getErr(), failure.getMessage() + "; see '" + name + " --help'");
        return ExitCodes.USAGE;
    }

    @Override
    public int handleExecutionException(Exception failure, CommandLine command, @Nullable ParseResult parsed) {
        print(command.getErr(), describe(failure));
        if (SemaphoreCommand.isVerbose(command)) {
            failure.printStackTrace(command.getErr());
        }
        return code(failure);
    }

    static Map<Class<? extends SemaphoreException>, Integer> codes() {
        return CODES;
    }

    public static int code(Exception failure) {
        if (failure instanceof CommandFailure known) {
            return known.exitCode();
        }
        if (failure instanceof IllegalArgumentException || failure instanceof UnsupportedOperationException) {
            return ExitCodes.USAGE;
        }
        return CODES.getOrDefault(failure.getClass(), ExitCodes.UNEXPECTED);
    }

    private static String describe(Exception failure) {
        if (code(failure) == ExitCodes.UNEXPECTED) {
            return "unexpected " + failure + "; run it again with --verbose to see where";
        }
        String message = failure.getMessage();
        return message == null ? failure.toString() : message;
    }

    /** Prints a message as a single line, whatever a library put into it. */
    public static void print(PrintWriter err, String message) {
        err.println("semaphore: " + Terminal.clean(message.strip().replaceAll("\\s*\\R\\s*", "; ")));
        err.flush();
    }
}
