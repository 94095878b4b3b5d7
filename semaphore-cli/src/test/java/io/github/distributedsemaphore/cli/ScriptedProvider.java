package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Does what no well-kept backend does at a wish: {@code scripted:?fail=REASON} fails to connect, {@code scripted:?ping=REASON}
 * fails to answer, and {@code
 * scripted:?loseOn=FILE} grants every permit and loses it as soon as the file is there. {@code scripted:?closing=FILE} makes the
 * file when it is closed, and is not done with that. {@code scripted:?away=2} creates nothing the first two times. Lists nothing and
 * has no fences.
 */
public final class ScriptedProvider implements BackendProvider {
    @Override
    public Set<String> schemes() {
        return Set.of("scripted");
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        switch (uri.text("fail", "")) {
            case "unavailable" -> throw new BackendUnavailableException("the backend is down; start it", null);
            case "access" -> throw new BackendAccessException("the backend refuses you; ask for the right", null);
            case "incompatible" -> throw new IncompatibleStateException("that is a list; choose another name", null);
            case "unknown" -> throw new OutcomeUnknownException("no answer came; repeat it", null);
            case "bug" -> throw new IllegalStateException("a bug");
            default -> {
                return new Backend(
                        Path.of(uri.text("loseOn", "never")),
                        uri.text("ping", ""),
                        uri.text("closing", ""),
                        new Admin(new AtomicInteger(Integer.parseInt(uri.text("away", "0")))));
            }
        }
    }

    private record Backend(Path loseOn, String answer, String closing, Admin admin) implements SemaphoreBackend {
        @Override
        public Guarantees guarantees() {
            return GuaranteesBuilder.of("scripted")
                    .callBound(Duration.ofSeconds(1))
                    .sizes(100, 1)
                    .build();
        }

        @Override
        public BackendSession open(String name, SessionListener listener) {
            return new Session(loseOn, listener);
        }

        @Override
        public void ping() {
            switch (answer) {
                case "unavailable" -> throw new BackendUnavailableException("the backend is down; start it", null);
                case "access" -> throw new BackendAccessException("the backend refuses you; ask for the right", null);
                default -> {}
            }
        }

        @Override
        public void close() {
            if (closing.isEmpty()) {
                return;
            }
            try {
                Files.createFile(Path.of(closing));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            // As a client library that waits for its server, whoever interrupts it.
            while (true) {
                LockSupport.parkNanos(this, Duration.ofMillis(100).toNanos());
            }
        }
    }

    private record Admin(AtomicInteger away) implements BackendAdmin {
        @Override
        public boolean create(String name, int limit) {
            if (away.getAndDecrement() > 0) {
                throw new BackendUnavailableException("the backend is down; start it", null);
            }
            return true;
        }

        @Override
        public Optional<SemaphoreDescription> describe(String name) {
            throw nothing();
        }

        @Override
        public List<String> names() {
            throw nothing();
        }

        @Override
        public void resize(String name, int limit) {
            throw nothing();
        }

        @Override
        public boolean destroy(String name) {
            throw nothing();
        }

        @Override
        public int retiredHolders(String name) {
            throw nothing();
        }

        private static RuntimeException nothing() {
            return new UnsupportedOperationException("a scripted backend creates, and does nothing else");
        }
    }

    private record Session(Path loseOn, SessionListener listener) implements BackendSession {
        @Override
        public ExchangeResult exchange(ExchangeRequest request) {
            List<Answer> answers = request.wants().stream()
                    .map(wanted -> (Answer) new Answer.Granted(List.of(new Hold(1, 1, 1))))
                    .toList();
            if (!answers.isEmpty()) {
                Thread loser = new Thread(this::loseWhenTold);
                loser.setDaemon(true);
                loser.start();
            }
            return ExchangeResult.of(answers).build();
        }

        private void loseWhenTold() {
            try {
                while (!Files.exists(loseOn)) {
                    Thread.sleep(5);
                }
                listener.ended("the script says so");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public Renewal renew(Collection<Hold> holds) {
            return new Renewal(Deadline.NEVER, Set.of(), Set.of());
        }

        @Override
        public Duration renewEvery() {
            return Duration.ofSeconds(1);
        }

        @Override
        public HoldState check(Hold hold) {
            return HoldState.HELD;
        }

        @Override
        public Watch watch(Runnable hint) {
            return () -> {};
        }

        @Override
        public void close() {}

        @Override
        public void abort() {}
    }
}
