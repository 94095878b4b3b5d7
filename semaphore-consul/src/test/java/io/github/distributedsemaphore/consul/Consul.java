package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** How the tests talk to the backend: the driven port, with short words for what they do most. */
final class Consul {
    static final String TIMER_THREAD = "semaphore-consul-timer";

    private Consul() {}

    static String uri(String... settings) {
        return "consul://" + ConsulServer.shared().address()
                + (settings.length == 0 ? "" : "?" + String.join("&", settings));
    }

    static SemaphoreBackend open(String... settings) {
        return openAt(uri(settings));
    }

    static SemaphoreBackend openAt(String uri) {
        return new ConsulBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    static String uniqueName() {
        return "t-" + UUID.randomUUID().toString().substring(0, 13);
    }

    static ExchangeResult ask(BackendSession session, Integer... wants) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(wants), 1, false));
    }

    static Answer take(BackendSession session, int permits) {
        return ask(session, permits).answers().get(0);
    }

    static List<Hold> takeHolds(BackendSession session, int permits) {
        if (take(session, permits) instanceof Answer.Granted granted) {
            return granted.holds();
        }
        throw new AssertionError("wanted " + permits + " permits and got none");
    }

    static Hold takeOne(BackendSession session) {
        return takeHolds(session, 1).get(0);
    }

    static ExchangeResult giveBack(BackendSession session, Hold... holds) {
        return session.exchange(new ExchangeRequest(List.of(holds), List.of(), 1, false));
    }

    /** Remembers what was lost. */
    static final class Losses implements SessionListener {
        final Set<Hold> holds = ConcurrentHashMap.newKeySet();

        @Override
        public void lost(Collection<Hold> lost, String reason) {
            holds.addAll(lost);
        }

        @Override
        public void ended(String reason) {
            throw new AssertionError("a session of this backend does not end by itself: " + reason);
        }
    }
}
