package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A link that carries nothing any more: the broker frees the slot only after the holder's own clock has given it up. */
class LinkTest {
    private static final int PHASES = 8;
    private static final Duration DETECTION = Duration.ofSeconds(4);

    /** A holder behind a link, and how long it is sure. */
    private record Case(
            StallingProxy proxy, SemaphoreBackend backend, BackendSession session, String name, Deadline sure) {}

    @Test
    void inNoPhaseOfTheHeartbeatIsAPermitSureWhenTheSlotIsFreeAndItIsFreeInTime() throws Exception {
        SemaphoreBackend looking = Rabbit.backend("?detection=4s");
        List<Case> cases = new ArrayList<>();
        for (int phase = 0; phase < PHASES; phase++) {
            cases.add(start(looking));
            // The phases are what is tested: an eighth of a heartbeat lies between them.
            TimeUnit.MILLISECONDS.sleep(1_000 / PHASES);
        }
        long cut = System.nanoTime();
        cases.forEach(one -> one.proxy.stall());
        List<Case> open = new ArrayList<>(cases);
        while (!open.isEmpty()) {
            assertThat(Duration.ofNanos(System.nanoTime() - cut)).isLessThan(DETECTION.plusSeconds(1));
            open.removeIf(one -> isFree(looking, one));
        }
        for (Case one : cases) {
            one.session.abort();
            one.backend.close();
            one.proxy.close();
            looking.admin().destroy(one.name);
        }
        looking.close();
    }

    private static Case start(SemaphoreBackend looking) throws Exception {
        String name = Rabbit.name();
        looking.admin().create(name, 1);
        StallingProxy proxy = new StallingProxy();
        SemaphoreBackend backend = Rabbit.backend(proxy.uri(), "?detection=4s");
        BackendSession session = backend.open(name, new Rabbit.News());
        Hold hold = Rabbit.takeOne(session);
        return new Case(
                proxy, backend, session, name, session.renew(List.of(hold)).validUntil());
    }

    private static boolean isFree(SemaphoreBackend looking, Case one) {
        BackendSession session = looking.open(one.name, new Rabbit.News());
        boolean free = Rabbit.take(session, 1).answers().get(0) instanceof Answer.Granted;
        long now = System.nanoTime();
        session.close();
        if (free) {
            assertThat(one.sure.isPast(now))
                    .as("the holder is not sure any more when another has the slot")
                    .isTrue();
        }
        return free;
    }
}
