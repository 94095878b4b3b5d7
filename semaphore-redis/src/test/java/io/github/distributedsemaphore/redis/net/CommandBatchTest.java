package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CommandBatchTest {
    private static final int THREADS = 4;
    private static final int ROUNDS = 2_000;

    private RedisConnections connections;
    private RedisWire wire;
    private String key;

    @BeforeEach
    void connect() {
        connections = new RedisConnections(
                ServerSettings.from(BackendUri.parse(RedisServer.address()), Duration.ofSeconds(2)), true);
        key = "test-" + UUID.randomUUID();
        wire = connections.open(key, connections.callDeadline());
        CommandBatch fill = new CommandBatch();
        fill.add(RedisVerb.HSET, key, "a", "1", "b", "2", "c", "3");
        wire.ask(fill, soon()).requireAll();
    }

    @AfterEach
    void close() {
        CommandBatch clear = new CommandBatch();
        clear.add(RedisVerb.DEL, key);
        wire.ask(clear, soon()).requireAll();
        wire.close();
        connections.close();
    }

    /** A process that was stopped for a while wakes so: Lettuce's thread has all still to do, and the time is over. */
    @Test
    void aBatchThatIsGivenUpBeforeItIsWrittenLeavesTheRepliesOfTheNextOneAlone() throws Exception {
        Semaphore go = blockThread();
        CommandBatch given = reading("a", "b");
        var unused = given.answer();
        wire.tell(given);
        CompletableFuture<Supplier<Replies>> answer = new CompletableFuture<>();
        wire.send(reading("b", "c"), answer::complete);

        given.giveUp();
        go.release();

        assertThat(answer.get(10, TimeUnit.SECONDS).get().all())
                .extracting(Reply::text)
                .containsExactly("2", "3");
    }

    /** The batch writes the lengths of its words itself: a wrong one would end the connection, or change the command behind it. */
    @Test
    void wordsOfAnyCharactersArriveAsTheyAre() {
        List<String> words = List.of("", "a line\r\n$5\r\nmore", "\u0000", "\u00e4\u20ac", "\ud83d\ude00");
        CommandBatch batch = new CommandBatch();
        words.forEach(word -> batch.add(RedisVerb.HSET, key, "word " + word, word));
        words.forEach(word -> batch.add(RedisVerb.HGET, key, "word " + word));

        assertThat(wire.ask(batch, soon()).all().stream().skip(words.size()).map(Reply::text))
                .containsExactlyElementsOf(words);
    }

    /** What is written grows beyond the first kilobyte, at any byte of a command. */
    @Test
    void wordsOfAnyLengthArriveAsTheyAre() {
        IntStream lengths =
                IntStream.concat(IntStream.rangeClosed(880, 1_060), IntStream.of(0, 9, 10, 99, 100, 70_000));
        lengths.mapToObj("x"::repeat).forEach(word -> {
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.HSET, key, "long", word);
            batch.add(RedisVerb.HGET, key, "long");

            assertThat(wire.ask(batch, soon()).get(1).text()).isEqualTo(word);
        });
    }

    /** A word that is no text is written with a question mark, and as long as its length says. */
    @Test
    void halfACharacterDisturbsNothing() {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.HSET, key, "half", "\ud83d\u00e9");
        batch.add(RedisVerb.HGET, key, "half");

        assertThat(wire.ask(batch, soon()).get(1).text()).isEqualTo("?\u00e9");
    }

    /** The shared connection is used so. Its batches once mixed with each other, and so did their replies. */
    @Test
    void batchesOfSeveralThreadsGetTheirOwnReplies() throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<Integer>> counts = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                List<String> fields = i % 2 == 0 ? List.of("a", "b", "c") : List.of("c");
                List<String> values = i % 2 == 0 ? List.of("1", "2", "3") : List.of("3");
                counts.add(threads.submit(foreignReplies(barrier, fields, values)));
            }
            for (Future<Integer> count : counts) {
                assertThat(count.get()).as("batches with a reply of another").isZero();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** A transaction into which a command of another thread comes does something else, and its replies have other places. */
    @Test
    void noCommandOfAnotherThreadComesIntoATransaction() throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            Future<Integer> foreign = other.submit(foreignReplies(barrier, List.of("c"), List.of("3")));
            barrier.await();
            for (int i = 0; i < ROUNDS; i++) {
                CommandBatch batch = new CommandBatch().multi();
                int first = batch.add(RedisVerb.HGET, key, "a");
                int second = batch.add(RedisVerb.HGET, key, "b");
                batch.exec();
                Replies replies = wire.ask(batch, soon());
                assertThat(replies.all().get(3).list())
                        .as("replies in round %d", i)
                        .hasSize(2);
                assertThat(List.of(
                                replies.get(first).text(), replies.get(second).text()))
                        .containsExactly("1", "2");
            }
            assertThat(foreign.get()).isZero();
        } finally {
            other.shutdownNow();
        }
    }

    /** The reply to the transaction itself says only that there were errors before it. */
    @Test
    void aRefusedTransactionSaysWhichOfItsCommandsWasRefused() {
        for (int refused = 0; refused < 3; refused++) {
            CommandBatch batch = new CommandBatch().multi();
            for (int i = 0; i < 3; i++) {
                if (i == refused) {
                    batch.add(RedisVerb.HGET, key);
                } else {
                    batch.add(RedisVerb.HGET, key, "a");
                }
            }
            batch.exec();
            Replies replies = wire.ask(batch, soon());

            assertThatExceptionOfType(RedisErrorException.class)
                    .as("command %d refused", refused)
                    .isThrownBy(replies::executed)
                    .withMessageContaining("wrong number of arguments for 'hget'");
        }
    }

    private Callable<Integer> foreignReplies(CyclicBarrier barrier, List<String> fields, List<String> values) {
        return () -> {
            barrier.await();
            return (int) IntStream.range(0, ROUNDS)
                    .filter(round -> !wire.ask(reading(fields.toArray(String[]::new)), soon()).all().stream()
                            .map(Reply::value)
                            .toList()
                            .equals(values))
                    .count();
        };
    }

    private CommandBatch reading(String... fields) {
        CommandBatch batch = new CommandBatch();
        for (String field : fields) {
            batch.add(RedisVerb.HGET, key, field);
        }
        return batch;
    }

    private static Deadline soon() {
        return Deadline.after(System.nanoTime(), Duration.ofSeconds(10));
    }

    /** Has the thread that writes and reads wait for the semaphore. */
    private Semaphore blockThread() throws InterruptedException {
        CountDownLatch waits = new CountDownLatch(1);
        Semaphore go = new Semaphore(0);
        wire.send(reading("a"), replies -> {
            waits.countDown();
            InterruptShield.await(go::tryAcquire, Deadline.after(System.nanoTime(), Duration.ofSeconds(30)));
        });
        waits.await();
        return go;
    }
}
