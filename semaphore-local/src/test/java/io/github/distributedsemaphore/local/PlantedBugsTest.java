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
                    PrivateFiles.open(shared.directory().resolve(SlotTable.NAME), "rw").close();
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
            in(
                    "the watch of a removed directory is kept",
                    "2.1",
                    "a release reaches",
                    "SharedSemaphore.java",
                    "table == watchTried && (key == null || key.isValid());",
                    "key != null || table == watchTried;"),
            in(
                    "a destroyed semaphore is listed while its slots are held",
                    "8.13",
                    "names while one holds",
                    "StateDirectory.java",
                    "if (name.isPresent() && Files.exists(entry.resolve(LimitFile.NAME))) {",
                    "if (name.isPresent() && Files.isDirectory(entry)) {"),
            in(
                    "a release after the whole state was removed says that it was held",
                    "4.4",
                    "a release right after the stored state was removed",
                    "LocalSession.java",
                    "new Outcome(missing(request, Set.copyOf(request.giveBack())), false)",
                    "new Outcome(missing(request, Set.of()), false)"),
            in(
                    "long names with escapes are not listed",
                    "12.1",
                    "the names that are listed",
                    "LocalNames.java",
                    "Pattern.compile(\"b-[0-9a-z]+\")",
                    "Pattern.compile(\"b-[0-9a-f]+\")"),
            in(
                    "a client does not see that others of its process wait",
                    "2.7",
                    "beside a client of three",
                    "LocalSession.java",
                    "return others || shared.othersWaitingHere(this);",
                    "return others;"),
            engine(
                    "no time bounds a run of hand-offs",
                    "8.7",
                    "grants of a removed slot later than",
                    "Slots.java",
                    "&& now - hold.takenAt() < handOffNanos",
                    "&& handOffNanos > 0"),
            engine(
                    "renewals do not begin again after nothing was held",
                    "6.8",
                    "is notified",
                    "SessionKeeper.java",
                    "renewing = false; return;",
                    "return;"),
            engine(
                    "a wait for removed slots looks once more after its end",
                    "3.2",
                    "awaitReleased(String, Duration) for",
                    "EngineAdmin.java",
                    "environment.park(this, Math.min(end().nanosFrom(environment.nanoTime()), pause));",
                    "environment.park(this, pause);"),
            engine(
                    "releases beyond one request are not sent on",
                    "12.3",
                    "a large group can be closed",
                    "PendingWork.java",
                    "returnsDue = leftOut > 0;",
                    "returnsDue = false;"),
            engine(
                    "a client that stops acquiring forgets it for new names",
                    "3.7",
                    "after the client stopped acquiring",
                    "EngineClient.java",
                    "acquiringStopped = true; semaphores",
                    "semaphores"),
            engine(
                    "a group of which a slot was removed says that it is held",
                    "5.1",
                    "a group of which one slot was removed",
                    "HeldPermit.java",
                    "List.of(Verification.LOST, Verification.RELEASED, Verification.RETIRED, Verification.HELD);",
                    "List.of(Verification.LOST, Verification.RELEASED, Verification.HELD, Verification.RETIRED);"),
            engine(
                    "an error that an asynchronous task throws keeps the permit",
                    "4.1",
                    "withPermitAsync of a task that throws",
                    "EngineSemaphore.java",
                    "stage = task.apply(permit); } catch (Throwable e) {",
                    "stage = task.apply(permit); } catch (RuntimeException e) {"),
            engine(
                    "a second close returns while the first is under way",
                    "16.1",
                    "several closes",
                    "EngineClient.java",
                    "end(Coordinator::close, SemaphoreBackend::close); } else { awaitingEnd.add(Thread.currentThread()); environment.awaitUninterruptibly(this, () -> ended); }",
                    "end(Coordinator::close, SemaphoreBackend::close); }"),
            engine(
                    "asking for a semaphore while its client closes aborts it",
                    "2.3",
                    "a client that",
                    "EngineClient.java",
                    "this::abortIfClosed); } requireOpen();",
                    "this::abortIfClosed); } abortIfClosed(known); requireOpen();"),
            in(
                    "a create overwrites what is damaged or of a later version",
                    "12.4",
                    "a create over damaged state",
                    "LocalAdmin.java",
                    "private static boolean isThere(SharedSemaphore shared, int limit) throws IOException { Optional<LimitFile> stored = LimitFile.read(shared.directory());",
                    """
                    private static boolean isThere(SharedSemaphore shared, int limit) throws IOException {
                        Optional<LimitFile> stored = Optional.empty();
                        try {
                            stored = LimitFile.read(shared.directory());
                        } catch (io.github.distributedsemaphore.IncompatibleStateException e) {
                            stored = Optional.empty();
                        }
                    """),
            engine(
                    "an asynchronous task that is cancelled when its permit comes keeps it",
                    "10.2",
                    "a cancelled task swallowed the permit",
                    "EngineSemaphore.java",
                    "if (taken.compareAndSet(false, true)) { environment.execute(permit::close); }",
                    "if (taken.compareAndSet(false, true)) { result.isDone(); }"),
            engine(
                    "an asynchronous task is done before its permit is released",
                    "4.1",
                    "isValid when the result is there",
                    "EngineSemaphore.java",
                    "permit.close(); environment.callBack(() -> { if (failure == null) { result.complete(value); } else { result.completeExceptionally(failure); } });",
                    """
                    environment.callBack(() -> {
                        if (failure == null) {
                            result.complete(value);
                        } else {
                            result.completeExceptionally(failure);
                        }
                    });
                    permit.close();
                    """),
            engine(
                    "ensure gives up at the first conflict with others",
                    "8.7",
                    "ensure failed because others",
                    "EngineAdmin.java",
                    "ENSURE_ATTEMPTS = 10;",
                    "ENSURE_ATTEMPTS = 1;"),
            engine(
                    "a call that has ended stays in memory until its time is over",
                    "16.3",
                    "calls that were served or cancelled",
                    "Acquisition.java",
                    "whenOver(timer::cancel);",
                    "whenOver(() -> {});"),
            engine(
                    "a time-out during its last attempt counts as a refusal",
                    "9.4",
                    "calls whose time was over",
                    "AcquireCall.java",
                    "if (once && !extended) {",
                    "if (once) {"),
            engine(
                    "an interrupted thread takes a permit if it does not wait",
                    "3.4",
                    "of a thread that was interrupted",
                    "EngineSemaphore.java",
                    "acquisition.endIfInterrupted(); return acquisition.attempt(permits);",
                    "return acquisition.attempt(permits);"),
            engine(
                    "a lost permit has the validity of its hold",
                    "5.4",
                    "the validity of a permit",
                    "HeldPermit.java",
                    "return state == State.HELD ? valid",
                    "return state != State.RELEASED ? valid"),
            engine(
                    "a group is valid for as long as the last of its permits",
                    "5.4",
                    "the validity of a group",
                    "HeldPermit.java",
                    "reduce(Deadline.NEVER, Deadline::earlier)",
                    "reduce((one, other) -> one.isBefore(other) ? other : one).orElseThrow()"),
            engine(
                    "cancelling an asynchronous task frees its permit while it runs",
                    "10.2",
                    "after its result was cancelled",
                    "EngineSemaphore.java",
                    "result.whenComplete((value, failure) -> acquired.cancel(false));",
                    """
                    result.whenComplete((value, failure) -> {
                        if (!acquired.cancel(false)) {
                            acquired.thenAccept(Permit::close);
                        }
                    });
                    """),
            engine(
                    "awaitReleased asks ever more seldom",
                    "2.1",
                    "ends awaitReleased",
                    "EngineAdmin.java",
                    "pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);",
                    "pause = 2 * pause;"),
            engine(
                    "a closed client lists names",
                    "16.1",
                    "names() of a closed client",
                    "EngineAdmin.java",
                    "client.requireOpen(); try { return backend.admin().names();",
                    "try { return backend.admin().names();"),
            engine(
                    "a closed client pings",
                    "16.1",
                    "ping() of a closed client",
                    "EngineClient.java",
                    "requireOpen(); Deadline deadline = Deadline.after(environment.nanoTime(), maxWait);",
                    "Deadline deadline = Deadline.after(environment.nanoTime(), maxWait);"),
            engine(
                    "close waits for the continuation that calls it",
                    "10.4",
                    "a continuation closes the client of its future",
                    "RealEnvironment.java",
                    "workers.shutdown();",
                    """
                    workers.shutdown();
                    try {
                        boolean unused = workers.awaitTermination(1, TimeUnit.MINUTES);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    """),
            engine(
                    "close misses the permits of a semaphore that nobody refers to",
                    "4.10",
                    "once its client was closed in order",
                    "EngineClient.java",
                    "entry.used = used ? semaphore : null;",
                    "entry.used = null;"),
            engine(
                    "a client never forgets a name",
                    "16.3",
                    "in memory after 40 collections",
                    "EngineClient.java",
                    "entries.remove(entry.name, entry);",
                    ""),
            engine(
                    "settings that nobody knows are passed over",
                    "12.3",
                    "the setting nosuch=1",
                    "Clients.java",
                    "uri.refuseUnread();",
                    ""),
            engine(
                    "a listener that throws keeps the news from the others",
                    "9.4",
                    "time-outs that were reported",
                    "Ledger.java",
                    """
                    try {
                        news.accept(listener);
                    } catch (Throwable e) {
                        // Of any kind, see EngineSemaphore: it would leave a call that has its permit.
                        if (faulty.add(listener)) {
                            environment.log(() ->
                                    LOG.error("The listener {} failed; its next failures are not logged", listener, e));
                        }
                    }
                    """,
                    "news.accept(listener);"),
            engine(
                    "each grant counts as a hand-off",
                    "9.4",
                    "to a client that hands nothing on",
                    "AcquireCall.java",
                    "permit.hold().handOffs() > 0",
                    "permit.hold().handOffs() >= 0"),
            in(
                    "a caller waits itself for the lock that another process has",
                    "3.2",
                    "ms late",
                    "LocalSession.java",
                    "Call.withoutWaiting()",
                    "Call.within(settings.timeout())"),
            in(
                    "a renewal does not see that the table was replaced",
                    "6.8",
                    "two quiet holders are notified that the stored state was removed",
                    "LocalSession.java",
                    "if (table != null && table.isInPlace()) {",
                    "if (table != null) {"),
            in(
                    "a hold is known by its slot and its session",
                    "6.3",
                    "while its client has the slot again",
                    "SlotTable.java",
                    "return session(hold.slot()) == session && entries.getLong(hold.slot() * ENTRY + FIRST) == hold.epoch();",
                    "return session(hold.slot()) == session && lastEpoch(hold.slot()) != UNKNOWN;"),
            in(
                    "a lock on the mutex that comes too late is kept",
                    "3.1",
                    "the process that was stopped goes on",
                    "FileMutex.java",
                    "if (!handOver.tryTransfer(Optional.of(lock))) { lock.release(); handOver.add(Optional.empty()); }",
                    "handOver.add(Optional.of(lock));"),
            engine(
                    "a task that comes after the close is dropped",
                    "3.7",
                    "TimeoutException",
                    "RealEnvironment.java",
                    "workerThreads.newThread(() -> runLogged(task)).start();",
                    ""),
            engine(
                    "a callback that its executor refuses is dropped",
                    "10.4",
                    "TimeoutException",
                    "RealEnvironment.java",
                    "refuses one, it runs on a thread of the client\", e)); once.run();",
                    "refuses one\", e));"),
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
                    """),
            in(
                    "the record of a holder has no room for a long label",
                    "12.2",
                    "the holders, with their labels",
                    "SlotTable.java",
                    "private static final int HOLDER = 1024;",
                    "private static final int HOLDER = 512;"));

    @TempDir
    Path folder;

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-local", "local/" + source, oldAndNew);
    }

    private static PlantedBug engine(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-api", "internal/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(LocalTckTest.class, folder).tests(BUGS);
    }
}
