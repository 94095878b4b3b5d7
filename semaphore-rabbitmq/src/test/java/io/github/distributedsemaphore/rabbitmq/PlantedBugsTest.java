package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.planted.PlantedBug;
import io.github.distributedsemaphore.tck.planted.PlantedRun;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The kit finds mistakes in this adapter. By {@code ./verify planted}: some minutes. */
class PlantedBugsTest {
    private static final List<PlantedBug> BUGS = List.of(
            in(
                    "the highest slot counts as a removed one",
                    "8.7",
                    "all removed slots are released",
                    "RabbitAdmin.java",
                    "held.clear(0, limit + 1);",
                    "held.clear(0, limit);"),
            in(
                    "the stream of a long name has a part of it",
                    "12.1",
                    "after another name of",
                    "QueueNames.java",
                    "? encoded : hash(semaphore)) + \":f\";",
                    "? encoded : encoded.substring(0, MAX_STREAM_BYTES)) + \":f\";"),
            in(
                    "fences are acknowledged when the broker has sent all that it may",
                    "2.9",
                    "no fence could be drawn",
                    "FenceChannel.java",
                    "if (unacknowledged >= UNACKNOWLEDGED / 4 || state",
                    "if (unacknowledged > UNACKNOWLEDGED || state"),
            in(
                    "a new connection for messages is bound by the next listener only",
                    "9.1",
                    "says which process it is",
                    "Mailbox.java",
                    "for (String semaphore : members.keySet()) { channel.queueBind(queue, EXCHANGE, semaphore); }",
                    "",
                    "unbound = true; open(); }",
                    "open(); present = post; if (present != null) { bind(present, List.of(semaphore)); } }"),
            in(
                    "administration that is refused leaves its connection",
                    "15.2",
                    "more refused calls of each kind leave no threads",
                    "AdminMutex.java",
                    "if (!taken) { connection.close(budget.end()); }",
                    "if (!taken) { LOG.debug(\"the mutex was not taken\"); }"),
            in(
                    "of slots that go back together one leaves the count",
                    "4.7",
                    "all slots that a group gave back",
                    "HolderCount.java",
                    "for (String tag : left.subList(1, left.size())) { used.asyncRpc(cancel(tag).nowait().build()); }",
                    ""),
            in(
                    "an epoch that an attempt left is the next one's",
                    "7.1",
                    "tried a removed slot",
                    "FenceStream.java",
                    "FenceChannel unused = send(line(patience), patience);",
                    "FenceChannel present = channel; if (present == null || !present.isSent()) { FenceChannel unused = send(line(patience), patience); }"),
            PlantedBug.of(
                    "the renewal that finds no session is the last",
                    "6.1",
                    "a permit that was taken after a long cut is renewed",
                    "semaphore-api",
                    "internal/SessionKeeper.java",
                    "if (current == null || asked.isEmpty()) { renewing = false; return; }",
                    "if (current == null) { return; } if (asked.isEmpty()) { renewing = false; return; }"));

    @TempDir
    Path folder;

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-rabbitmq", "rabbitmq/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(RabbitTckTest.class, folder).tests(BUGS);
    }
}
