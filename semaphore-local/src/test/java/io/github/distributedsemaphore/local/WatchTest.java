package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hints for waiters, by clients of one process and by what shows in the directory. */
class WatchTest {
    @TempDir
    Path directory;

    private final Semaphore hints = new Semaphore(0);
    private SemaphoreBackend backend;
    private BackendSession waiter;
    private BackendSession holder;

    @BeforeEach
    void open() {
        backend = Local.open(directory);
        backend.admin().create("jobs", 2);
        waiter = session(backend, "jobs");
        holder = session(backend, "jobs");
    }

    @AfterEach
    void close() {
        waiter.close();
        holder.close();
        backend.close();
        assertThat(SharedSemaphore.IN_USE.size()).isZero();
    }

    private boolean hinted() throws InterruptedException {
        return hints.tryAcquire(5, TimeUnit.SECONDS);
    }

    @Test
    void aReleaseOfAnotherClientIsHintedOnTheSpot() {
        Hold hold = takeOne(holder);
        BackendSession.Watch watch = waiter.watch(hints::release);
        giveBack(holder, hold);
        assertThat(hints.tryAcquire()).isTrue();
        watch.close();
        giveBack(holder, takeOne(holder));
        assertThat(hints.tryAcquire()).isFalse();
    }

    @Test
    void closingASessionIsHinted() {
        takeOne(holder);
        waiter.watch(hints::release);
        holder.close();
        assertThat(hints.tryAcquire()).isTrue();
    }

    @Test
    void resizeAndDestroyAreHinted() throws Exception {
        waiter.watch(hints::release);
        backend.admin().resize("jobs", 3);
        assertThat(hinted()).isTrue();
        backend.admin().destroy("jobs");
        assertThat(hinted()).isTrue();
    }

    @Test
    void whatAnotherProcessDoesToTheDirectoryIsHinted() throws Exception {
        waiter.watch(hints::release);
        Files.createFile(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
        Files.delete(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
        Files.delete(directory.resolve("n-jobs/limit"));
        assertThat(hinted()).isTrue();
    }

    @Test
    void aWatchOutlivesDestroyAndCreate() throws Exception {
        waiter.watch(hints::release).close();
        backend.admin().destroy("jobs");
        backend.admin().create("jobs", 1);
        waiter.watch(hints::release);
        Files.createFile(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
    }

    @Test
    void whoGoesOnWaitingAfterDestroyAndCreateIsHinted() throws Exception {
        waiter.watch(hints::release);
        backend.admin().destroy("jobs");
        createAnewAndExpectAHint();
    }

    /** The directory lives on where it is then, and so does a watch on it. */
    @Test
    void whoGoesOnWaitingAfterTheDirectoryWasMovedAndCreateIsHinted() throws Exception {
        waiter.watch(hints::release);
        Files.move(directory.resolve("n-jobs"), directory.resolve("aside"));
        createAnewAndExpectAHint();
    }

    private void createAnewAndExpectAHint() throws Exception {
        backend.admin().create("jobs", 1);
        takeOne(holder);
        while (hints.tryAcquire(300, TimeUnit.MILLISECONDS)) {
            assertThat(take(waiter, 1)).isEqualTo(Answer.FULL);
        }
        changeLimit();
        assertThat(hinted()).isTrue();
    }

    /** The engine opens a watch once. */
    @Test
    void whoBeginsToWaitBetweenDestroyAndCreateIsHinted() throws Exception {
        backend.admin().destroy("jobs");
        waiter.watch(hints::release);
        backend.admin().create("jobs", 1);
        takeOne(holder);
        assertThat(take(waiter, 1)).isEqualTo(Answer.FULL);
        while (hints.tryAcquire(300, TimeUnit.MILLISECONDS)) {
            assertThat(take(waiter, 1)).isEqualTo(Answer.FULL);
        }
        changeLimit();
        assertThat(hinted()).isTrue();
    }

    /** As a process does that changed the limit, which wakes everybody. */
    private void changeLimit() throws IOException {
        Files.createFile(directory.resolve("n-jobs/limit.other"));
        Files.move(
                directory.resolve("n-jobs/limit.other"),
                directory.resolve("n-jobs/limit"),
                StandardCopyOption.ATOMIC_MOVE);
    }

    @Test
    void whatAHintThrowsKeepsNoLaterHintBack() throws Exception {
        waiter.watch(() -> {
            hints.release();
            throw new IllegalStateException("a hint that fails, as a test wants it");
        });
        Files.createFile(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
        Files.delete(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
    }

    @Test
    void aSessionEndsAlthoughWhatItsCloseHintsFails() {
        takeOne(holder);
        waiter.watch(() -> {
            throw new IllegalStateException("a hint that fails, as a test wants it");
        });
        assertThatThrownBy(holder::close).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> take(holder, 1)).isInstanceOf(BackendUnavailableException.class);
    }

    @Test
    void theThreadThatWatchesOutlivesAnInterrupt() throws Exception {
        waiter.watch(hints::release);
        Thread watching = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("semaphore-local-watch"))
                .findFirst()
                .orElseThrow();
        watching.interrupt();
        while (watching.isInterrupted() && watching.isAlive()) {
            Thread.onSpinWait();
        }
        Files.createFile(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
    }

    @Test
    void aWatchThatBeginsAfterTheEndStartsNoThread() {
        DirectoryWatch watch = new DirectoryWatch();
        watch.close();
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        assertThat(watch.watch(directory, releasedOnly -> hints.release())).isNull();
        assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> !before.contains(thread))
                .extracting(Thread::getName)
                .doesNotContain("semaphore-local-watch");
    }

    @Test
    void aClientIsHintedThatFollowsOneWhoseLastOperationIsUnderWay() throws Exception {
        waiter.close();
        holder.close();
        FileMutex table = new FileMutex(directory.resolve("n-jobs/table"));
        FutureTask<Optional<SemaphoreDescription>> operation =
                new FutureTask<>(() -> backend.admin().describe("jobs"));
        BackendSession follower;
        try (Call call = Call.within(Duration.ofSeconds(1))) {
            assertThat(table.lock(call)).isTrue();
            new Thread(operation, "operation").start();
            while (SharedSemaphore.IN_USE.size() == 0 && !operation.isDone()) {
                Thread.onSpinWait();
            }
            backend.close();
            backend = Local.open(directory);
            follower = session(backend, "jobs");
            table.unlock();
        } finally {
            table.close();
        }
        assertThat(operation.get()).isPresent();

        follower.watch(hints::release);
        Files.createFile(directory.resolve("n-jobs/released"));
        assertThat(hinted()).isTrue();
        follower.close();
        assertThat(StateDirectory.IN_USE.size()).isEqualTo(1);
    }

    @Test
    void grantsAreNotHinted() throws Exception {
        waiter.watch(hints::release);
        takeOne(holder);
        assertThat(hints.tryAcquire(100, TimeUnit.MILLISECONDS)).isFalse();
    }
}
