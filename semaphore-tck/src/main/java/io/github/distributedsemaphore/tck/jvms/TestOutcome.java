package io.github.distributedsemaphore.tck.jvms;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.TestIdentifier;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * How a test ended in another JVM, as a line between the two.
 *
 * @param id the test, or the class, if that failed
 * @param test whether it is a test
 * @param status how it ended
 * @param message what it said, empty if nothing
 * @param trace its exceptions with their stack traces, empty without any
 */
record TestOutcome(String id, boolean test, Status status, String message, String trace) {
    private static final Gson GSON = new Gson();

    static TestOutcome of(TestIdentifier test, TestExecutionResult result) {
        StringWriter trace = new StringWriter();
        result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(new PrintWriter(trace, true)));
        String message = result.getThrowable()
                .map(Throwable::getMessage)
                .map(String::valueOf)
                .orElse("");
        return new TestOutcome(test.getUniqueId(), test.isTest(), result.getStatus(), message, trace.toString());
    }

    static TestOutcome hanging(String id, Duration patience, String thread) {
        String message = "the test has not ended " + patience
                + " after its time-out, so this JVM of the kit ended; its cause shows the call that does not return";
        return new TestOutcome(id, true, Status.FAILED, message, thread);
    }

    /** Empty if it is none. */
    static Optional<TestOutcome> fromLine(String line) {
        try {
            return Optional.ofNullable(GSON.fromJson(line, TestOutcome.class)).filter(outcome -> outcome.id() != null);
        } catch (JsonParseException e) {
            return Optional.empty();
        }
    }

    String toLine() {
        return GSON.toJson(this);
    }

    /** Ends the test here as it ended there. */
    void repeat() {
        switch (status) {
            case SUCCESSFUL -> {}
            case ABORTED -> throw new TestAbortedException(message);
            case FAILED -> throw failure();
        }
    }

    AssertionFailedError failure() {
        IllegalStateException there = new IllegalStateException("in another JVM: " + trace);
        there.setStackTrace(new StackTraceElement[0]);
        AssertionFailedError failure = new AssertionFailedError(message, there);
        failure.setStackTrace(new StackTraceElement[0]);
        return failure;
    }
}
