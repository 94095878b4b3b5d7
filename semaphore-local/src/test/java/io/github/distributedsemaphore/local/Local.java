package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/** How the tests talk to the backend: the driven port, with short words for what they do most. */
final class Local {
    static final SessionListener SILENT = new SessionListener() {
        @Override
        public void lost(Collection<Hold> holds, String reason) {
            // These tests ask.
        }

        @Override
        public void ended(String reason) {
            // These tests ask.
        }
    };

    private Local() {}

    static SemaphoreBackend open(Path directory, String... settings) {
        return openAs("test", directory, settings);
    }

    static SemaphoreBackend openAs(String label, Path directory, String... settings) {
        String query = settings.length == 0 ? "" : "?" + String.join("&", settings);
        BackendUri uri = BackendUri.parse("local:" + directory + query);
        return new LocalBackendProvider().open(uri, HolderInfo.ofThisProcess(label));
    }

    static BackendSession session(SemaphoreBackend backend, String name) {
        return backend.open(name, SILENT);
    }

    static ExchangeResult ask(BackendSession session, Integer... wants) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(wants), 1, false));
    }

    static Answer take(BackendSession session, int permits) {
        return ask(session, permits).answers().get(0);
    }

    static Hold takeOne(BackendSession session) {
        return takeHolds(session, 1).get(0);
    }

    static List<Hold> takeHolds(BackendSession session, int permits) {
        Answer answer = take(session, permits);
        if (answer instanceof Answer.Granted granted) {
            return granted.holds();
        }
        throw new AssertionError("wanted " + permits + " permits and got " + answer);
    }

    static Hold takeRun(BackendSession session, int epochs) {
        ExchangeResult result = session.exchange(new ExchangeRequest(List.of(), List.of(1), epochs, false));
        return ((Answer.Granted) result.answers().get(0)).holds().get(0);
    }

    static ExchangeResult giveBack(BackendSession session, Hold... holds) {
        return session.exchange(new ExchangeRequest(List.of(holds), List.of(), 1, false));
    }

    static List<Answer> full(int times) {
        return Collections.nCopies(times, Answer.FULL);
    }
}
