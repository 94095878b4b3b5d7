package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.redis.worklock.Workers.Hired;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Java and the other kind at one job, and what the flaws of the other kind leave to Java. */
class SharedWithForeignersTest {
    private final RedisServer server = RedisServer.start();
    private final Workers workers = new Workers(server.uri());
    private final String key = workers.key();
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private ForkedCrew foreigners;

    @BeforeAll
    static void python() {
        ForkedCrew.assumeForeigners();
    }

    @BeforeEach
    void start() {
        foreigners = foreigners(server.port());
    }

    private ForkedCrew foreigners(int port) {
        return ForkedCrew.ofForeigners(port, (unused, line) -> told.add(line));
    }

    @AfterEach
    void close() {
        foreigners.close();
        workers.close();
        server.close();
    }

    private void foreignerSays(String... lines) throws InterruptedException {
        for (String line : lines) {
            assertThat(told.poll(60, TimeUnit.SECONDS)).isEqualTo(line);
        }
    }

    @Test
    void attemptsAreCountedAcrossBothKinds() throws InterruptedException {
        Hired java = workers.hire().says("acquired false");
        foreigners.hire(key, 3);
        foreignerSays("locked", "waiting");
        java.hears("fail").says("end NOT_DONE");

        foreigners.say(key, "tick");
        foreignerSays("acquired false");
        assertThat(workers.value()).isEqualTo("2");
        java = workers.hire().says("locked", "waiting");
        foreigners.say(key, "fail");
        foreignerSays("end");

        java.hears("tick").says("acquired true").hears("done").says("end DONE");
        foreigners.hire(key, 3);
        foreignerSays("locked", "waiting");
        foreigners.say(key, "tick");
        foreignerSays("end");
        // That is how they clean up.
        assertThat(workers.value()).isEqualTo("null");
    }

    @Test
    void theLastAttemptOfOneKindIsTheLastForTheOther() throws InterruptedException {
        workers.commands().set(key, "2");
        Hired java = workers.hire().says("locked", "waiting");
        foreigners.hire(key, 3);
        foreignerSays("locked", "waiting");
        java.hears("tick").says("acquired true").hears("fail").says("end NOT_DONE");
        // It began with the number 1 in mind, saw 3, and waits again.
        foreigners.say(key, "tick");
        foreignerSays("waiting");
        foreigners.say(key, "tick");
        foreignerSays("max-attempts", "end");
        assertThat(workers.left().toMillis()).isPositive();
        workers.hire().says("locked", "max-attempts", "end EXHAUSTED");
    }

    @Test
    void aJobThatTheOtherKindFinishedIsNotBegunAgainAndItsMarkerGetsAnEnd() throws InterruptedException {
        foreigners.hire(key, 3);
        foreignerSays("acquired false");
        Hired java = workers.hire().says("locked", "waiting");
        foreigners.say(key, "done");
        foreignerSays("end");
        assertThat(workers.left().toMillis()).isNegative();
        java.hears("tick").says("end FINISHED_ELSEWHERE");
        assertThat(workers.left().toMillis()).isPositive();
    }

    @Test
    void aJobWhoseLastAttemptTheOtherKindFinishedIsGone() throws InterruptedException {
        workers.commands().set(key, "1");
        foreigners.hire(key, 2);
        foreignerSays("locked", "waiting");
        foreigners.say(key, "tick");
        foreignerSays("acquired true");
        Hired java = workers.hire(server.uri(), 2).says("locked", "waiting");
        foreigners.say(key, "done");
        foreignerSays("end");
        java.hears("tick").says("end GONE");
    }

    /** The flaw: what is finished between the check and the take-over is begun again, under the number NaN. */
    @Test
    void whatTheOtherKindBeginsAgainAlthoughItIsFinishedJavaDoesNot() throws InterruptedException {
        AtomicBoolean happened = new AtomicBoolean();
        Hired slow = workers.hire().says("acquired false");
        CommandGate gate = workers.gate((line, command, answered) -> {
            // The second WATCH is that of the take-over.
            if (!answered
                    && command.startsWith("WATCH")
                    && line.passed().contains("EXEC")
                    && !happened.getAndSet(true)) {
                slow.hears("done").says("end DONE");
            }
            return true;
        });
        try (ForkedCrew flawed = foreigners(gate.port())) {
            flawed.hire(key, 3);
            foreignerSays("locked", "waiting");
            flawed.say(key, "tick");
            foreignerSays("acquired false");
            assertThat(workers.value()).isEqualTo("NaN");

            workers.hire().says("locked", "end FINISHED_ELSEWHERE");
            assertThat(workers.value()).isEqualTo("DONE");
            assertThat(workers.left().toMillis()).isPositive();
        }
    }

    /** Another: an end of half a second is no whole number, and is refused, so the key never expires. */
    @Test
    void aJobThatTheOtherKindGaveUpWithoutAnEndGetsOne() throws InterruptedException {
        workers.commands().set(key, "1");
        try (ForkedCrew hasty =
                ForkedCrew.ofForeigners(server.port(), 250, "steered", (unused, line) -> told.add(line))) {
            hasty.hire(key, 1);
            foreignerSays("locked", "waiting");
            hasty.say(key, "tick");
            foreignerSays("max-attempts", "error ERR value is not an integer or out of range", "end");
            assertThat(workers.left().toMillis()).isNegative();
        }
        workers.hire(server.uri(), 1).says("locked", "waiting").hears("tick").says("max-attempts", "end EXHAUSTED");
        assertThat(workers.left().toMillis()).isPositive();
    }
}
