package io.github.distributedsemaphore.consul;

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
                    "a place for which there was no session is never made",
                    "11.4",
                    "client 0 lost answer",
                    "SessionPool.java",
                    "if (taken == null) { placed(null, 0); }",
                    ""),
            in(
                    "those that wait at a name below count as waiting above it",
                    "2.13",
                    "hold up one at",
                    "PrefixReader.java",
                    "} else if (last.indexOf('/') < 0 && !session.isEmpty()) {",
                    "} else if (!session.isEmpty()) {"),
            in(
                    "an attempt is refused by what was seen a while ago",
                    "8.15",
                    "cannot be acquired after its release",
                    "ConsulExchange.java",
                    "if (!plan.refusesForGood() && !losesHolds && (!plan.isEmpty() || known.isJustSeen(last))) {",
                    "if ((!plan.refusesForGood() && !losesHolds && !plan.isEmpty()) || known.isJustSeen(last)) {"),
            in(
                    "a create takes the limit of what was destroyed for one that is there",
                    "8.7",
                    "through any plan of changes",
                    "ConsulAdmin.java",
                    "if (!view.exists() && lock != null && !lock.destroyed()) {",
                    "if (!view.exists() && lock != null) {"),
            in(
                    "what is missing or too much is refused by what was seen a while ago",
                    "8.5",
                    "can never be granted",
                    "ExchangePlan.java",
                    "refusesForGood || verdicts.stream().anyMatch(verdict -> verdict instanceof Answer && verdict != Answer.FULL);",
                    "refusesForGood;"),
            in(
                    "a hold that was lost counts as released beside another",
                    "4.4",
                    "of which another client has the second slot",
                    "ConsulExchange.java",
                    "endReleases(plan, lost); calls.freshen(holds.keySet(), end);",
                    "plan.releases().forEach(pool::released); calls.freshen(holds.keySet(), end);"),
            in(
                    "a place in the queue that a slot came to counts on as a place",
                    "11.4",
                    "clients of which 0 and 1 hold a permit each",
                    "SessionPool.java",
                    "holders.put(hold, session); place = session == place ? null : place;",
                    "holders.put(hold, session);"));

    @TempDir
    Path folder;

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-consul", "consul/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(ConsulTckTest.class, folder).tests(BUGS);
    }
}
