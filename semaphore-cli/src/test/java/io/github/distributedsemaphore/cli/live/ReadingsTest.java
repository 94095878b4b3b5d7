package io.github.distributedsemaphore.cli.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is read of a real Redis. */
final class ReadingsTest {
    private static final Duration EVERY = Duration.ofMillis(50);

    @TempDir
    private Path folder;

    private RedisProcess redis;
    private SemaphoreClient client;

    @BeforeEach
    void start() {
        redis = new RedisProcess(folder);
        client = SemaphoreClient.connect(redis.uri());
    }

    @AfterEach
    void stop() {
        client.close();
        redis.close();
    }

    private Readings readings(String... names) {
        return readingsOf(redis.uri(), names);
    }

    private static Readings readingsOf(String uri, String... names) {
        return new Readings(SemaphoreClient.connect(uri), uri, List.of(names), EVERY);
    }

    private static List<String> news(Snapshot snapshot, String name) {
        return snapshot.changesNow(name).stream()
                .map(change -> change.kind().word())
                .toList();
    }

    @Test
    void theFirstReadingShowsHowItIsAndNoChange() throws InterruptedException {
        client.admin().create("exports", 3);
        try (Readings readings = readings();
                Permit held = client.semaphore("exports").acquire(Duration.ofSeconds(5))) {
            Snapshot snapshot = readings.read();

            assertThat(held.isValid()).isTrue();
            assertThat(snapshot.source().address()).isEqualTo(redis.uri());
            assertThat(snapshot.changes()).isEmpty();
            assertThat(snapshot.rows()).hasSize(1);
            Row row = snapshot.rows().get(0);
            assertThat(row.held()).isEqualTo(1);
            assertThat(row.free()).isEqualTo(2);
            assertThat(row.past()).containsExactly(1);
            assertThat(row.oldest()).isPresent();
        }
    }

    @Test
    void whatHappensBetweenTwoReadingsIsAChange() throws InterruptedException {
        try (Readings readings = readings()) {
            readings.read();
            client.admin().create("exports", 3);
            assertThat(news(readings.read(), "exports")).containsExactly("appeared");

            Permit held = client.semaphore("exports").acquire(Duration.ofSeconds(5));
            Snapshot taken = readings.read();
            assertThat(news(taken, "exports")).containsExactly("taken");
            assertThat(taken.changesNow("exports").get(0).detail())
                    .contains(
                            "slot " + held.slot(),
                            "pid " + ProcessHandle.current().pid());

            client.admin().resize("exports", 2);
            assertThat(news(readings.read(), "exports")).containsExactly("limit");
            held.close();
            assertThat(news(readings.read(), "exports")).containsExactly("freed");
            assertThat(news(readings.read(), "exports")).isEmpty();

            assertThat(client.admin().destroy("exports")).isTrue();
            Snapshot gone = readings.read();
            assertThat(news(gone, "exports")).containsExactly("gone");
            assertThat(gone.rows()).isEmpty();
            assertThat(gone.changes()).hasSize(5);
        }
    }

    @Test
    void aSlotThatPassesToAnotherHolderIsMarkedAsThat() throws InterruptedException {
        client.admin().create("exports", 1);
        try (Readings readings = readings();
                SemaphoreClient other = SemaphoreClient.connect(redis.uri())) {
            Permit first = client.semaphore("exports").acquire(Duration.ofSeconds(5));
            readings.read();
            first.close();
            try (Permit second = other.semaphore("exports").acquire(Duration.ofSeconds(5))) {
                assertThat(second.isValid()).isTrue();
                assertThat(news(readings.read(), "exports")).containsExactly("passed on");
            }
        }
    }

    @Test
    void aRemovedSlotThatIsHeldIsRetired() throws InterruptedException {
        client.admin().create("exports", 2);
        try (Readings readings = readings("exports");
                Permit one = client.semaphore("exports").acquire(Duration.ofSeconds(5));
                Permit two = client.semaphore("exports").acquire(Duration.ofSeconds(5))) {
            assertThat(one.slot() + two.slot()).isEqualTo(3);
            readings.read();
            client.admin().resize("exports", 1);

            assertThat(news(readings.read(), "exports")).containsExactly("limit", "retired");
        }
    }

    @Test
    void aNameThatDoesNotExistIsSaidInItsRow() {
        client.admin().create("exports", 2);
        try (Readings readings = readings("exports", "none")) {
            List<Row> rows = readings.read().rows();

            assertThat(rows).extracting(Row::name).containsExactly("exports", "none");
            assertThat(rows).extracting(Row::problem).containsExactly("", "there is no such semaphore");
        }
    }

    @Test
    void aServerThatEndsIsTroubleAndWhatWasKnownStays() {
        client.admin().create("exports", 2);
        try (Readings readings = readings()) {
            readings.read();
            redis.stop();
            Snapshot silent = readings.read();
            assertThat(silent.trouble()).isNotEmpty();
            assertThat(silent.rows()).extracting(Row::name).containsExactly("exports");
            assertThat(silent.rows().get(0).past()).containsExactly(0, Row.UNKNOWN);
            assertThat(news(silent, "")).containsExactly("no answer");
            assertThat(news(readings.read(), "")).isEmpty();
            assertThatThrownBy(readings::readOrFail).isInstanceOf(BackendUnavailableException.class);

            redis.start();
            Snapshot back = Awaitility.await()
                    .until(readings::read, snapshot -> snapshot.trouble().isEmpty());
            assertThat(news(back, "")).containsExactly("answers");
            // This one keeps nothing when it ends.
            assertThat(back.rows()).isEmpty();
        }
    }

    @Test
    void aServerThatStandsStillIsTroubleBeforeTheCallEnds() throws IOException, InterruptedException {
        client.admin().create("exports", 2);
        BlockingQueue<Snapshot> read = new LinkedBlockingQueue<>();
        try (Readings readings = readingsOf(redis.uri() + "?timeout=20s")) {
            readings.start(read::add);
            assertThat(read.take().trouble()).isEmpty();
            redis.signal("STOP");
            Snapshot silent = Awaitility.await()
                    .until(readings::latest, one -> !one.trouble().isEmpty());
            assertThat(silent.silence()).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(10));
            assertThat(silent.rows()).hasSize(1);
            redis.signal("CONT");
            Awaitility.await().until(readings::latest, one -> one.trouble().isEmpty());
        }
    }

    @Test
    void aServerThatAnswersEachQuestionIsNotSilentHoweverManyThereAre() throws InterruptedException {
        for (String name : List.of("a", "b", "c", "d")) {
            client.admin().create(name, 1);
        }
        BlockingQueue<Snapshot> read = new LinkedBlockingQueue<>();
        SemaphoreClient slow = slow(SemaphoreClient.class, SemaphoreClient.connect(redis.uri()));
        try (Readings readings = new Readings(slow, redis.uri(), List.of(), EVERY)) {
            readings.start(read::add);
            Awaitility.await().until(() -> {
                assertThat(readings.latest().trouble()).isEmpty();
                return !read.isEmpty();
            });
            assertThat(read.take().rows()).hasSize(4);
        }
    }

    /** A client whose backend takes most of the time after which it counts as silent for what it says about a semaphore. */
    private static <T> T slow(Class<T> type, T original) {
        return before("describe", () -> Thread.sleep(900), type, original);
    }

    /** A client that does something before each call of a method that its administration has. */
    private static <T> T before(String called, ThrowingRunnable first, Class<T> type, T original) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, values) -> {
                    if (method.getName().equals(called)) {
                        first.run();
                    }
                    Object answer = method.invoke(original, values);
                    return answer instanceof SemaphoreAdmin admin
                            ? before(called, first, SemaphoreAdmin.class, admin)
                            : answer;
                }));
    }

    /** Else what is read would pile up, for as long as a pipe that nobody reads takes no more. */
    @Test
    void whileItCannotPrintTopReadsNoFurther() throws InterruptedException {
        client.admin().create("exports", 1);
        AtomicInteger asked = new AtomicInteger();
        CountDownLatch stuck = new CountDownLatch(1);
        SemaphoreClient counted =
                before("names", asked::incrementAndGet, SemaphoreClient.class, SemaphoreClient.connect(redis.uri()));
        try (Readings readings = new Readings(counted, redis.uri(), List.of(), EVERY)) {
            Thread top = new Thread(() -> printTo(stuckWriter(stuck), readings), "top");
            top.start();
            stuck.await();
            // One is printed, one waits for that, one is to be handed over.
            Awaitility.await().until(() -> asked.get() == 3 && isReaderWaitingWithoutEnd());
            top.interrupt();
            top.join();
        }
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .doesNotContain("semaphore-readings");
    }

    /** Between two readings, and for an answer, it waits for some time at most. */
    private static boolean isReaderWaitingWithoutEnd() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread ->
                        thread.getName().equals("semaphore-readings") && thread.getState() == Thread.State.WAITING);
    }

    private static void printTo(Writer writer, Readings readings) {
        try {
            TopCommand.printChanges(readings, new PrintWriter(writer));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Writer stuckWriter(CountDownLatch stuck) {
        return new Writer() {
            @Override
            public void write(char[] text, int from, int length) throws IOException {
                stuck.countDown();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    throw new InterruptedIOException();
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }

    @Test
    void closingEndsTheThreadAlsoWhileTheServerStandsStill() throws IOException, InterruptedException {
        BlockingQueue<Snapshot> read = new LinkedBlockingQueue<>();
        try (Readings readings = readings()) {
            readings.start(read::add);
            read.take();
            redis.signal("STOP");
            Awaitility.await().until(readings::latest, one -> !one.trouble().isEmpty());
        }
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .doesNotContain("semaphore-readings");
    }

    @ParameterizedTest
    @CsvSource({
        "1000,   3, true,   997", // the reading is part of the interval
        "1000, 100, true,   900",
        "1000, 400, true,  3600",
        "1000,   1, false, 1000",
        "1000, 300, false, 2700",
        "1000, 4000, false, 5000",
    })
    void askingTakesATenthOfTheTimeAtMost(long every, long took, boolean answered, long rest) {
        assertThat(Readings.rest(Duration.ofMillis(every), Duration.ofMillis(took), answered))
                .isEqualTo(Duration.ofMillis(rest));
    }

    @Test
    void noMoreThanTenMinutesAreKept() {
        client.admin().create("exports", 2);
        try (Readings readings = readings()) {
            Snapshot last = readings.read();
            for (int i = 1; i < Readings.KEPT + 20; i++) {
                last = readings.read();
            }
            assertThat(last.rows().get(0).past()).hasSize(Readings.KEPT).doesNotContain(Row.UNKNOWN);
            assertThat(last.ages()).hasSize(Readings.KEPT).isSortedAccordingTo((a, b) -> Long.compare(b, a));
            assertThat(last.ages().get(Readings.KEPT - 1)).isZero();
        }
    }

    @Test
    void aNameThatCanBeNoneIsRefusedAtOnce() {
        assertThatThrownBy(() -> readings(" ")).isInstanceOf(IllegalArgumentException.class);
    }
}
