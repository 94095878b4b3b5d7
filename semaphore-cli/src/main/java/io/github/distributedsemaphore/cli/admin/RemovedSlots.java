package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.cli.common.CommandFailure;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The wait for the holders of slots that a resize or a destruction has removed. */
final class RemovedSlots {
    static final String WAIT_HELP =
            "wait so long, such as 500ms, 30s or 5m, until no removed slot is held any more, and"
                    + " end with 4 if one still is; default: do not ask";

    private RemovedSlots() {}

    static void await(SemaphoreAdmin admin, String name, @Nullable Duration wait, String done)
            throws InterruptedException {
        if (wait != null && !admin.awaitReleased(name, wait)) {
            throw new CommandFailure(
                    ExitCodes.STILL_HELD,
                    name + ": " + done + ", but after " + Durations.format(wait) + " removed slots are still held;"
                            + " let their holders finish, or wait longer with --wait");
        }
    }
}
