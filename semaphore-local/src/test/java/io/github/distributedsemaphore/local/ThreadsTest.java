package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Many threads and clients of one process, interrupts among them. */
class ThreadsTest {
    private static final int LIMIT = 3;

    @TempDir
    Path directory;

    private static void runAll(List<Callable<Void>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        try {
            for (Future<Void> done : threads.invokeAll(tasks)) {
                done.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** A session reads the table without the mutex when it closes. */
    @Test
    void aTableIsReadWholeAlthoughItGrowsMeanwhile() throws Exception {
        LockFile file = LockFile.open(directory.resolve(SlotTable.NAME));
        SlotTable.read(file, 1).prepare(1, 1);
        AtomicBoolean over = new AtomicBoolean();
        try {
            runAll(List.of(
                    () -> {
                        while (!over.get()) {
                            setSlots(file, SlotTable.MAX_SLOTS);
                            setSlots(file, 1);
                        }
                        return null;
                    },
                    () -> {
                        try {
                            for (int i = 0; i < 1_000; i++) {
                                assertThat(SlotTable.readAll(file, 0).holdsOf(SlotTable.newSession()))
                                        .isEmpty();
                            }
                            return null;
                        } finally {
                            over.set(true);
                        }
                    }));
        } finally {
            file.close();
        }
    }

    private static void setSlots(LockFile file, long slots) throws IOException {
        file.write(Long.BYTES, ByteBuffer.allocate(Long.BYTES).putLong(slots).array());
    }

    @Test
    void clientsOfOneProcessAreRivalsLikeAnyOthers() throws Exception {
        HolderMapOfThreads inside = new HolderMapOfThreads();
        try (SemaphoreBackend first = Local.open(directory)) {
            first.admin().create("jobs", LIMIT);
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                tasks.add(() -> {
                    try (SemaphoreBackend backend = Local.open(directory);
                            BackendSession session = session(backend, "jobs")) {
                        for (int round = 0; round < 300; round++) {
                            churn(session, inside, 1 + round % 2);
                        }
                    }
                    return null;
                });
            }
            runAll(tasks);
            assertThat(inside.most.get()).isEqualTo(LIMIT);
            try (BackendSession session = session(first, "jobs")) {
                assertThat(takeHolds(session, LIMIT)).hasSize(LIMIT);
            }
        }
        assertThat(LockFile.openFiles()).isZero();
    }

    private static void churn(BackendSession session, HolderMapOfThreads inside, int want) {
        if (take(session, want) instanceof Answer.Granted granted) {
            granted.holds().forEach(inside::enter);
            LockSupport.parkNanos(1_000);
            granted.holds().forEach(inside::leave);
            assertThat(giveBack(session, granted.holds().toArray(Hold[]::new)).lost())
                    .isEmpty();
        }
    }

    /** Who is inside, counted apart from the backend. */
    private static final class HolderMapOfThreads {
        private final AtomicInteger now = new AtomicInteger();
        private final AtomicInteger most = new AtomicInteger();
        private final AtomicInteger[] slots =
                Stream.generate(AtomicInteger::new).limit(LIMIT + 1).toArray(AtomicInteger[]::new);

        void enter(Hold hold) {
            assertThat(slots[hold.slot()].incrementAndGet()).isEqualTo(1);
            most.accumulateAndGet(now.incrementAndGet(), Math::max);
        }

        void leave(Hold hold) {
            now.decrementAndGet();
            slots[hold.slot()].decrementAndGet();
        }
    }

    @Test
    void anInterruptNeitherBreaksAnExchangeOffNorIsSwallowed() {
        try (SemaphoreBackend backend = Local.open(directory)) {
            Thread.currentThread().interrupt();
            backend.admin().create("jobs", LIMIT);
            assertThat(Thread.interrupted()).isTrue();
            try (BackendSession session = session(backend, "jobs")) {
                Thread.currentThread().interrupt();
                Hold hold = takeOne(session);
                assertThat(Thread.interrupted()).isTrue();
                Thread.currentThread().interrupt();
                assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
                BackendSession.Watch watch = session.watch(() -> {});
                watch.close();
                backend.admin().resize("jobs", LIMIT + 1);
                assertThat(backend.admin().describe("jobs").orElseThrow().free())
                        .isEqualTo(LIMIT);
                assertThat(giveBack(session, hold).lost()).isEmpty();
                assertThat(Thread.interrupted()).isTrue();
            }
        }
    }

    @Test
    void aRenewalDuringAGrantFindsWhatIsHeld() throws Exception {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = session(backend, "jobs")) {
            backend.admin().create("jobs", LIMIT);
            Hold kept = takeOne(session);
            AtomicBoolean done = new AtomicBoolean();
            Callable<Void> grants = () -> {
                try {
                    for (int i = 0; i < 5_000; i++) {
                        giveBack(session, takeOne(session));
                    }
                } finally {
                    done.set(true);
                }
                return null;
            };
            Callable<Void> renewals = () -> {
                while (!done.get()) {
                    assertThat(session.renew(List.of(kept)).lost()).isEmpty();
                }
                return null;
            };
            runAll(List.of(grants, renewals));
        }
    }

    @Test
    void interruptsAtRandomMomentsLoseNoHold() throws Exception {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = session(backend, "jobs");
                BackendSession keeper = session(backend, "jobs")) {
            backend.admin().create("jobs", LIMIT);
            Hold kept = takeOne(keeper);
            AtomicBoolean done = new AtomicBoolean();
            Thread worker = Thread.currentThread();
            Thread interrupter = new Thread(() -> {
                while (!done.get()) {
                    worker.interrupt();
                    LockSupport.parkNanos(1_000);
                }
            });
            interrupter.start();
            try {
                for (int i = 0; i < 2_000; i++) {
                    Hold hold = i % 2 == 0 ? takeOne(session) : startedOrTaken(session);
                    assertThat(session.renew(List.of(hold)).lost()).isEmpty();
                    if (i % 50 == 0) {
                        backend.admin()
                                .resize(
                                        "jobs",
                                        LIMIT + ThreadLocalRandom.current().nextInt(3));
                        keeper.watch(() -> {}).close();
                    }
                    assertThat(giveBack(session, hold).lost()).isEmpty();
                }
            } finally {
                done.set(true);
                while (interrupter.isAlive()) {
                    Thread.interrupted();
                    Thread.onSpinWait();
                }
                Thread.interrupted();
            }
            assertThat(keeper.check(kept)).isEqualTo(HoldState.HELD);
            assertThat(backend.admin().describe("jobs").orElseThrow().holders()).hasSize(1);
        }
    }

    @Test
    void anErrorWhileTheMutexIsTakenKeepsNobodyOut() throws Exception {
        AtomicBoolean fails = new AtomicBoolean(true);
        FileMutex mutex = new FileMutex(directory.resolve("mutex")) {
            @Override
            boolean isInPlace(LockFile current) throws IOException {
                if (fails.getAndSet(false)) {
                    throw new StackOverflowError("as a test wants it");
                }
                return super.isInPlace(current);
            }
        };
        try (Call call = Call.withoutWaiting()) {
            assertThatThrownBy(() -> mutex.lock(call)).isInstanceOf(StackOverflowError.class);
            assertThat(mutex.lock(call)).isTrue();
            mutex.unlock();
        } finally {
            mutex.close();
        }
    }

    private static Hold startedOrTaken(BackendSession session) {
        CompletionStage<ExchangeResult> started = session.start(new ExchangeRequest(List.of(), List.of(1), 1, false));
        if (started == null) {
            return takeOne(session);
        }
        Answer answer = started.toCompletableFuture().join().answers().get(0);
        return ((Answer.Granted) answer).holds().get(0);
    }

    @Test
    void leavesNoFileOpenAndNoThreadBehind() throws Exception {
        Local.open(directory).close();
        try (Stream<Path> warm = Files.list(Path.of("/proc/self/fd"))) {
            assertThat(warm).isNotEmpty();
        }
        long before = openFiles();
        try (SemaphoreBackend backend = Local.open(directory)) {
            backend.admin().create("jobs", LIMIT);
            for (int i = 0; i < 50; i++) {
                BackendSession session = session(backend, "jobs");
                takeHolds(session, LIMIT);
                take(session, 1);
                BackendSession.Watch watch = session.watch(() -> {});
                watch.close();
                backend.admin().describe("jobs");
                if (i % 2 == 0) {
                    session.close();
                } else {
                    session.abort();
                }
            }
            backend.admin().destroy("jobs");
        }
        await().untilAsserted(() -> {
            assertThat(openFiles()).isEqualTo(before);
            assertThat(isWatching()).isFalse();
        });
    }

    /** Counts the files in our directory, and all inotify instances, that this process has open. */
    private long openFiles() throws IOException {
        long count = 0;
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors.toList()) {
                String target = Files.exists(descriptor)
                        ? Files.readSymbolicLink(descriptor).toString()
                        : "";
                if (target.startsWith(directory.toString()) || target.contains("inotify")) {
                    count++;
                }
            }
        }
        return count;
    }

    private static boolean isWatching() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals("semaphore-local-watch"));
    }

    @Test
    void sessionsThatEndDuringExchangesLeaveEverythingFree() throws Exception {
        try (SemaphoreBackend backend = Local.open(directory)) {
            backend.admin().create("jobs", LIMIT);
            for (int i = 0; i < 100; i++) {
                BackendSession session = session(backend, "jobs");
                runAll(List.of(
                        () -> {
                            try {
                                takeHolds(session, 2);
                                take(session, 1);
                            } catch (BackendUnavailableException e) {
                                assertThat(e).hasMessageContaining("jobs");
                            }
                            return null;
                        },
                        () -> {
                            session.abort();
                            return null;
                        }));
            }
            try (BackendSession session = session(backend, "jobs")) {
                assertThat(takeHolds(session, LIMIT)).hasSize(LIMIT);
            }
        }
        assertThat(LockFile.openFiles()).isZero();
        assertThat(SharedSemaphore.IN_USE.size()).isZero();
    }
}
