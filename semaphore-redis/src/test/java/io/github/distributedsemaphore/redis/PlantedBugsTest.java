package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.planted.PlantedBug;
import io.github.distributedsemaphore.tck.planted.PlantedRun;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The kit finds mistakes in this adapter, and in the engine as far as a link shows them. By {@code ./verify planted}: some minutes. */
class PlantedBugsTest {
    private static final List<PlantedBug> BUGS = List.of(
            in(
                    "create after destroy leaves an end to what holders have",
                    "8.15",
                    "after destroying and creating",
                    "RedisAdmin.java",
                    "transaction.add(RedisVerb.PERSIST, key);",
                    "LOG.trace(key);"),
            in(
                    "create after destroy ends what holders have of their own",
                    "8.15",
                    "a permit from before a destroy is held on",
                    "RedisAdmin.java",
                    "for (String key : layout.keysOfHolders(clients)) { transaction.add(RedisVerb.PERSIST, key);",
                    "for (String key : List.of(layout.free(), layout.epochs(), layout.lives())) { transaction.add(RedisVerb.PERSIST, key);"),
            in(
                    "who waits no more goes on listening",
                    "16.6",
                    "messages to a client that waits for nothing",
                    "RedisSession.java",
                    "channels.forget(layout.channelOfAll(), everybody);",
                    "channels.forget(layout.channelOfAll(), this::hint);"),
            in(
                    "validity is counted from the answer",
                    "5.4",
                    "the longest validity that is left",
                    "RedisLiveness.java",
                    "return Deadline.at(sentNanos + left - margin);",
                    "return Deadline.at(System.nanoTime() + left - margin);"),
            in(
                    "dead waiters stay in the queue",
                    "16.4",
                    "has grown",
                    "RedisPruning.java",
                    "batch.add(RedisVerb.ZREM, layout.waiters(), clients);",
                    ""),
            in(
                    "after a cut nobody subscribes again",
                    "2.1",
                    "did not reach a waiter whose link was cut",
                    "net/RedisChannels.java",
                    ".thenCompose(connection -> subscribe(connection, listeners.keySet()))",
                    ".thenApply(connection -> connection.isOpen())"),
            in(
                    "what is told before a client listens again is lost",
                    "2.1",
                    "without a link reaches the waiter",
                    "net/RedisChannels.java",
                    "if (failure == null) { tellAll(); } else {",
                    "if (failure != null) {"),
            in(
                    "who is refused once does not try to listen again",
                    "2.1",
                    "without a link reaches the waiter",
                    "net/RedisChannels.java",
                    "LOG.debug(\"Cannot listen to {} yet\", connections.endpoint(), failure); reconnectLater();",
                    "LOG.debug(\"Cannot listen to {} yet\", connections.endpoint(), failure);"),
            in(
                    "an interrupted thread has no connection for what is no exchange",
                    "3.5",
                    "of an interrupted thread",
                    "net/WirePool.java",
                    "if (!InterruptShield.await(lock::tryLock, deadline)) {",
                    "if (Thread.currentThread().isInterrupted() || !InterruptShield.await(lock::tryLock, deadline)) {"),
            in(
                    "a destroy removes a hash that is no semaphore",
                    "8.16",
                    "destroy of a name that is taken",
                    "RedisAdmin.java",
                    "if (Control.isForeign(found)) {",
                    "if (Control.isForeign(found) && found.map().isEmpty()) {"),
            in(
                    "a slot whose release a fail-over lost is taken up again",
                    "7.2",
                    "epoch after a fail-over",
                    "Reconciliation.java",
                    "(damaged || used || isOfFormerServer(note, base) ?",
                    "(damaged ?"),
            in(
                    "of many slots that were removed a part of the others is seen",
                    "8.6",
                    "what many removed slots leave",
                    "View.java",
                    "boolean all = known == null || known.limit() <= FEW_SLOTS || known.slots() > known.limit();",
                    "boolean all = known == null || known.limit() <= FEW_SLOTS;"),
            in(
                    "what was created between two looks is taken for something foreign",
                    "8.13",
                    "is there and is no semaphore",
                    "ArmedWire.java",
                    "if (Control.isForeign(ask(batch, deadline).get(all))) {",
                    "if (!ask(batch, deadline).get(all).map().isEmpty()) {"),
            in(
                    "who holds a slot of a destroyed semaphore does not put off its end",
                    "8.15",
                    "destroyed some time ago",
                    "RedisLiveness.java",
                    "if (found.control() == null && !found.slots().isEmpty()) { keepRecords();",
                    "if (found.control() == null && found.slots().isEmpty()) { keepRecords();"),
            in(
                    "a create forgets the higher slots of old holders",
                    "8.7",
                    "through any plan of changes",
                    "RedisAdmin.java",
                    "int slots = Math.max(limit, present.stream().mapToInt(slot -> slot).max().orElse(0));",
                    "int slots = limit;"),
            in(
                    "a release without a reply may come late",
                    "4.6",
                    "a request that comes late",
                    "RedisExchange.java",
                    "if (reconciliation.outlive(deadline)) { reconciliation.requireConfirmed",
                    "if (reconciliation.isDue()) { reconciliation.requireConfirmed"),
            engine(
                    "the patience of awaitReleased begins anew with each question",
                    "3.13",
                    "gives up after its patience",
                    "EngineAdmin.java",
                    "since = reason == null ? asked : since;",
                    "since = asked;"),
            engine(
                    "a permit that was not renewed is said to be taken by the backend",
                    "13.3",
                    "the cause that the news gives",
                    "Slots.java",
                    "lose(hold, LossCause.NOT_RENEWED_IN_TIME, \"it was not renewed in time\");",
                    "lose(hold, LossCause.TAKEN_BY_BACKEND, \"it was not renewed in time\");"),
            engine(
                    "the second outage has what the first has left of the patience",
                    "3.13",
                    "rides out outage 2",
                    "Outage.java",
                    "if (!isOn()) { since = sent; }",
                    "if (since == 0) { since = sent; }"),
            engine(
                    "renewals go on with nothing held",
                    "16.6",
                    "of a client that holds nothing",
                    "SessionKeeper.java",
                    "if (current == null || asked.isEmpty()) {",
                    "if (current == null) {"),
            engine(
                    "each grant begins renewals of its own",
                    "16.5",
                    "after 20 other grants",
                    "SessionKeeper.java",
                    "if (!renewing && current != null) {",
                    "if (current != null) {",
                    "nextRenewal.cancel();",
                    ""),
            engine(
                    "the next in the queue is not asked for when the first leaves",
                    "11.2",
                    "were not served",
                    "PendingWork.java",
                    "ask |= head != null && !head.isAttempted();",
                    "ask |= head == null && ask;"),
            engine(
                    "what was granted to a call that has ended is kept",
                    "3.6",
                    "the grants to cancelled calls kept a slot",
                    "Slots.java",
                    "news.stream().filter(hold -> !isLostEarly(hold)).forEach(hold -> place(hold, sent));",
                    ""),
            engine(
                    "a waiter for two takes the one that another caller leaves",
                    "11.2",
                    "what a caller has that asked for two",
                    "Slots.java",
                    "if (head != null && head.wanted() == 1",
                    "if (head != null"),
            engine(
                    "renewals do not begin again after a rest",
                    "6.1",
                    "stays valid and with its holder",
                    "SessionKeeper.java",
                    "if (current == null || asked.isEmpty()) { renewing = false;",
                    "if (current == null || asked.isEmpty()) {"),
            engine(
                    "an old grant passes to a call that came after it",
                    "8.7",
                    "what a call got that began after its slot was removed",
                    "Slots.java",
                    "&& (head.since() - sent <= 0 || now - hold.takenAt() < handOffNanos)",
                    ""),
            engine(
                    "a release that certainly failed is not tried again",
                    "4.6",
                    "is tried again when the link is whole",
                    "Outage.java",
                    "work.keep(postponed); retryLater();",
                    "retryLater();"),
            engine(
                    "a release is tried again once",
                    "4.6",
                    "is tried again when the link is whole",
                    "Outage.java",
                    "if (queue.isClosed()) { // The end of the session",
                    "if (queue.isClosed() || isOn()) { // The end of the session"),
            engine(
                    "a renewal that failed is the last",
                    "13.3",
                    "is whole again",
                    "SessionKeeper.java",
                    "renewAfter(wait);",
                    "if (renewal != null) { renewAfter(wait); }"),
            in(
                    "holders are listed in the order of their clients",
                    "9.1",
                    "in the order in which they are listed",
                    "RedisInspection.java",
                    ".sorted(Comparator.comparingInt(Holder::slot))",
                    ""),
            in(
                    "validity is counted from a look at the queue",
                    "5.4",
                    "said to be valid after its slot was granted",
                    "ExchangeLoop.java",
                    "liveness.validUntil(view.sentNanos(), view.deadlineMillis(), view.serverMicros())",
                    "liveness.validUntil(view.queueNanos(), view.deadlineMillis(), view.serverMicros())"),
            in(
                    "a watch that was ended is believed to stand",
                    "8.6",
                    "a client that was idle for",
                    "ArmedWire.java",
                    "tell(batch); view = known.unwatched();",
                    "tell(batch);"),
            in(
                    "an attempt gives up the place of those that wait",
                    "11.4",
                    "were refused a permit meanwhile",
                    "Planner.java",
                    "boolean stays = waits && (unserved || !attempt.isForWaiters());",
                    "boolean stays = waits && unserved;"),
            in(
                    "no room is made for the end of a word",
                    "12.1",
                    "the request was lost on its way",
                    "net/CommandBatch.java",
                    "makeRoom(word.length + 2);",
                    "makeRoom(word.length);"),
            engine(
                    "an attempt that is under way is granted when its client stops acquiring",
                    "3.7",
                    "where it must fail with SemaphoreException",
                    "Slots.java",
                    "if (sure && !call.isDone() && refusal == null) {",
                    "if (sure && !call.isDone()) {"),
            engine(
                    "when an outage ends, one more of the semaphores of a client is tried again",
                    "3.13",
                    "a waiter is served when the backend is back",
                    "Outage.java",
                    "waiting.remove().task(); if (!waiting.isEmpty()) { arm(waiting.element()); }",
                    "waiting.remove().task(); if (failures > 0 && !waiting.isEmpty()) { arm(waiting.element()); }"));

    @TempDir
    Path folder;

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-redis", "redis/" + source, oldAndNew);
    }

    private static PlantedBug engine(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-api", "internal/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(RedisTckTest.class, folder).tests(BUGS);
    }
}
