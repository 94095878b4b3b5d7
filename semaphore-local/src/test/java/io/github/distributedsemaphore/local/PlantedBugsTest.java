package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.tck.planted.PlantedBug;
import io.github.distributedsemaphore.tck.planted.PlantedRun;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The kit finds mistakes in this adapter, and in the engine as far as it needs no link for them. By {@code ./verify planted}: some minutes. */
class PlantedBugsTest {
    private static final List<PlantedBug> BUGS = List.of(
            in(
                    "a description drops the lock of a holder in the same process",
                    "9.3",
                    "another process got the slot",
                    "LocalAdmin.java",
                    "List<Holder> holders = shared.allSlots(limit).holders(limit);",
                    """
                    List<Holder> holders = shared.allSlots(limit).holders(limit);
                    PrivateFiles.open(shared.directory().resolve(SlotTable.NAME)).close();
                    """),
            in(
                    "an escape of no fixed width makes one semaphore of two names",
                    "12.2",
                    "shares its permit with",
                    "LocalNames.java",
                    "\"=%02x\"",
                    "\"=%x\""),
            in(
                    "the epochs of a slot start again when its record was removed",
                    "7.2",
                    "was removed",
                    "EpochSource.java",
                    "if (last == SlotTable.UNKNOWN || last >= end()",
                    "if (last != SlotTable.UNKNOWN && last >= end()"),
            in(
                    "every second release hints no other process",
                    "2.1",
                    "a release reaches",
                    "DirectoryWatch.java",
                    "StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE);",
                    "StandardWatchEventKinds.ENTRY_CREATE);"),
            PlantedBug.of(
                    "awaitReleased is deaf to interrupts",
                    "3.4",
                    "awaitReleased",
                    "semaphore-api",
                    "internal/EngineAdmin.java",
                    "environment.park(this, Math.min(end().nanosFrom(environment.nanoTime()), pause));",
                    """
                    long until = environment.nanoTime() + Math.min(end().nanosFrom(environment.nanoTime()), pause);
                    boolean interrupted = false;
                    while (environment.nanoTime() < until) {
                        interrupted |= Thread.interrupted();
                        java.util.concurrent.locks.LockSupport.parkNanos(until - environment.nanoTime());
                    }
                    interrupted |= Thread.interrupted();
                    """));

    @TempDir
    Path folder;

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-local", "local/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(LocalTckTest.class, folder).tests(BUGS);
    }
}
