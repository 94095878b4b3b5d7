package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.Durations;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/** One client's use of a state directory. */
final class LocalBackend implements SemaphoreBackend {
    private static final Duration WAKE_UP = Duration.ofMillis(250);
    private static final Duration LOSS_NOTICE = LocalSettings.RENEW_EVERY.multipliedBy(4);

    private final StateDirectory state;
    private final LocalSettings settings;
    private final LocalAdmin admin;
    private final AtomicBoolean closed = new AtomicBoolean();

    LocalBackend(StateDirectory state, LocalSettings settings) {
        this.state = state;
        this.settings = settings;
        this.admin = new LocalAdmin(state, settings.timeout());
    }

    @Override
    public Guarantees guarantees() {
        return GuaranteesBuilder.of("local")
                .capabilities(
                        Capability.CROSS_PROCESS,
                        Capability.CRASH_RELEASE,
                        Capability.FENCING,
                        Capability.DURABLE_FENCING,
                        Capability.DURABLE_STATE,
                        Capability.LISTING,
                        Capability.ATOMIC_ADMINISTRATION)
                .detection(Duration.ZERO, settings.detection())
                .lossNoticeBound(LOSS_NOTICE)
                .wakeUpBound(WAKE_UP)
                .callBound(settings.timeout().multipliedBy(3))
                .exposure(Fault.CLIENT_CRASH, Duration.ZERO)
                .exposure(Fault.CLIENT_PAUSE, Duration.ZERO)
                .exposure(Fault.BACKEND_RESTART, Duration.ZERO)
                .exposure(Fault.STATE_REMOVED, LOSS_NOTICE)
                .sizes(LocalNames.MAX_BYTES, SlotTable.MAX_SLOTS)
                .notes(notes())
                .build();
    }

    private String[] notes() {
        String network = settings.allowNetworkFileSystem()
                ? "A network file system is allowed by a setting: if its locks do not reach every machine, or its server"
                        + " drops them, nothing of this holds, least of all the limit."
                : "Only for processes of one user on one machine; network file systems are refused.";
        return new String[] {
            network,
            "A release reaches waiters of other processes by file system events (inotify on Linux); where there are none,"
                    + " and when a holder was killed, one waiting process finds out by asking again after "
                    + Durations.format(settings.recheck(true))
                    + ", and each other one after 50 to 75 % of the detection time.",
            "A process that is stopped (SIGSTOP) in the middle of an operation, which takes some ten microseconds, makes"
                    + " all others fail until it goes on; the message names it.",
        };
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return new LocalSession(state, settings, name);
    }

    @Override
    public void ping() {
        try (Call call = Call.within(settings.timeout())) {
            state.ping(call);
        } catch (IOException e) {
            throw Call.failure("State directory " + state.path(), e);
        }
    }

    @Override
    public BackendAdmin admin() {
        return admin;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            state.close();
        }
    }
}
