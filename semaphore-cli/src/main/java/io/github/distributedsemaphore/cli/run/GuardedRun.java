package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.cli.common.ErrorLine;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One run of a command under permits that are held already: from its start to the release. For one thread. */
final class GuardedRun {
    private final String name;
    private final PermitGroup group;
    private final List<Path> locks;
    private final SignalRelay signals;
    private final PrintWriter err;
    private final long earliestEnd;
    private final CompletableFuture<PermitLoss> loss = new CompletableFuture<>();
    private @Nullable Thread telling;

    GuardedRun(
            String name, PermitGroup group, List<Path> locks, SignalRelay signals, PrintWriter err, Duration atLeast) {
        this.earliestEnd = System.nanoTime() + atLeast.toNanos();
        this.name = name;
        this.group = group;
        this.locks = locks;
        this.signals = signals;
        this.err = err;
        group.permits().forEach(permit -> permit.onLost(loss::complete));
    }

    int run(List<String> command) throws IOException, InterruptedException {
        boolean isLostBefore;
        Integer code;
        boolean isLost;
        try (ChildProcess child = ChildProcess.prepare(command, environment(), locks)) {
            // The locks may have taken seconds.
            isLostBefore = isLost();
            if (!isLostBefore && !signals.startAndRelayTo(child)) {
                return signals.exitCodeOfFirst();
            }
            code = isLostBefore ? null : exitCode(child);
            isLost = isLost();
        }
        // What comes now may take long, as a client does that closes: a second signal is to end it, and no command is
        // left that could get it.
        boolean wasSignalled = signals.commandEnded();
        if (code == null) {
            if (isLostBefore) {
                tell("the permit was lost before the command was started");
            }
            return lost();
        }
        if (isLost || wasSignalled || earliestEnd - System.nanoTime() <= 0) {
            return release(code, isLost, false);
        }
        Verification atEnd = verify();
        if (atEnd == Verification.LOST) {
            return release(code, true, false);
        }
        return isLostBeforeEarliestEnd() ? lostAfterEnd(code) : release(code, false, atEnd != null);
    }

    /** Waits for the end of the command. If a loss comes before, ends the command and returns null. */
    private @Nullable Integer exitCode(ChildProcess child) {
        CompletableFuture<Integer> exited = child.exited();
        Object unused = CompletableFuture.anyOf(exited, loss).join();
        if (exited.isDone()) {
            return exited.join();
        }
        tell("the permit was lost (" + loss.join().reason() + "); ending the command");
        child.terminate(ChildProcess.GRACE);
        return null;
    }

    /** Begins to print. Standard error may take nothing for as long as it likes, as a terminal after Ctrl-S. */
    private void tell(String message) {
        telling = new Thread(() -> ErrorLine.print(err, name + ": " + message), "semaphore-message");
        telling.setDaemon(true);
        telling.start();
    }

    /** What the backend took while the command ran may be told when it has ended: so it is asked. Null if it does not answer. */
    private @Nullable Verification verify() {
        try {
            return group.verify();
        } catch (SemaphoreException e) {
            return null;
        }
    }

    private int lostAfterEnd(int code) {
        // First: nobody is to wait for the others until the message is out.
        group.close();
        ErrorLine.print(err, name + ": the permit was lost before --at-least was over, after the command had ended");
        return code;
    }

    /** A listener may learn of a loss late. */
    private boolean isLost() {
        return loss.isDone() || !group.permits().stream().allMatch(Permit::isValid);
    }

    /** Other hosts start the same command at about the same time: whoever is late is not to find the slot free again. */
    private boolean isLostBeforeEarliestEnd() {
        long left = earliestEnd - System.nanoTime();
        if (left <= 0) {
            return false;
        }
        try {
            Object unused = loss.get(left, TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            // A signal ends this time and nothing else: the slot is given back, and the exit code stays the command's.
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException("A loss does not fail", e);
        }
    }

    /** Gives back what is not lost, and then waits until the message is out. */
    private int lost() throws InterruptedException {
        group.close();
        if (telling != null) {
            telling.join();
        }
        return ExitCodes.PERMIT_LOST;
    }

    /**
     * Gives the slots back.
     *
     * @param isLost whether one was lost while the command ran, as far as is known
     * @param wasHeldAtEnd whether the backend said that all were held when the command had ended
     */
    private int release(int code, boolean isLost, boolean wasHeldAtEnd) {
        boolean wasLost = isLost;
        try {
            wasLost |= group.release().contains(ReleaseOutcome.WAS_LOST);
        } catch (SemaphoreException e) {
            ErrorLine.print(
                    err, name + ": the command ended, but its slot may stay taken for a while: " + e.getMessage());
            // The failure of one slot hides what was found of the others. A second release asks nobody, and tells what
            // is lost.
            wasLost |= group.permits().stream().anyMatch(permit -> permit.release() == ReleaseOutcome.WAS_LOST);
        }
        if (!wasLost) {
            return code;
        }
        if (wasHeldAtEnd) {
            return lostAfterEnd(code);
        }
        ErrorLine.print(err, name + ": the permit was lost before the command ended (it ended with " + code + ")");
        return ExitCodes.PERMIT_LOST;
    }

    private Map<String, String> environment() {
        return Map.of(
                "SEMAPHORE_NAME", name,
                "SEMAPHORE_SLOT",
                        group.permits().stream()
                                .map(permit -> String.valueOf(permit.slot()))
                                .collect(Collectors.joining(",")),
                "SEMAPHORE_EPOCH",
                        group.permits().stream().map(GuardedRun::epoch).collect(Collectors.joining(",")));
    }

    private static String epoch(Permit permit) {
        try {
            return String.valueOf(permit.fence().epoch());
        } catch (UnsupportedOperationException e) {
            return "";
        }
    }
}
