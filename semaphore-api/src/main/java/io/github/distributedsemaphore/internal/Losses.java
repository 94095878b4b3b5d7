package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import java.util.Collection;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How permits end against the will of their holders, and how that becomes known. Guarded by the coordinator's lock. */
final class Losses {
    private static final Logger LOG = LoggerFactory.getLogger(Losses.class);

    private final String name;
    private final CoordinatorLock lock;
    private final SessionKeeper keeper;
    private final Exchanges exchanges;
    private final Environment environment;

    Losses(String name, CoordinatorLock lock, SessionKeeper keeper, Exchanges exchanges, Environment environment) {
        this.name = name;
        this.lock = lock;
        this.keeper = keeper;
        this.exchanges = exchanges;
        this.environment = environment;
    }

    /** Asks the backend whether a permit is still held. Takes the lock itself, and lets go of it while it asks. */
    Verification verify(HeldPermit permit) {
        BackendSession session;
        lock.lock();
        try {
            if (permit.state() == HeldPermit.State.HELD
                    && permit.hold().validUntil().isPast(environment.nanoTime())) {
                loseUnconfirmed(permit.hold());
            }
            session = keeper.session();
            if (permit.state() != HeldPermit.State.HELD || session == null) {
                return ended(permit);
            }
        } finally {
            lock.unlock();
        }
        HoldState answer = Questions.now(name, () -> session.check(permit.hold().hold()));
        lock.lock();
        try {
            if (permit.state() != HeldPermit.State.HELD) {
                return ended(permit);
            }
            return switch (answer) {
                case HELD -> Verification.HELD;
                case RETIRED -> {
                    permit.hold().retire(environment.nanoTime());
                    yield Verification.RETIRED;
                }
                case LOST -> {
                    lose(List.of(permit.hold().hold()), "the backend was asked and does not count it as held");
                    yield Verification.LOST;
                }
            };
        } finally {
            lock.unlock();
        }
    }

    private static Verification ended(HeldPermit permit) {
        return permit.state() == HeldPermit.State.RELEASED ? Verification.RELEASED : Verification.LOST;
    }

    /** Under the lock: the backend says that these are gone. */
    void lose(Collection<Hold> lost, String reason) {
        for (Hold hold : lost) {
            SlotHold found = keeper.find(hold);
            if (found != null) {
                lose(found, LossCause.TAKEN_BY_BACKEND, reason);
            } else {
                keeper.lostUnknown(hold);
            }
        }
    }

    /** Under the lock: the time is over for which it was sure. It goes back, for nobody here will use it any more. */
    void loseUnconfirmed(SlotHold hold) {
        lose(hold, LossCause.NOT_RENEWED_IN_TIME, "it was not renewed in time");
        exchanges.giveBackUnasked(hold);
    }

    /** Under the lock: the hold is gone, and so is its permit. */
    void lose(SlotHold hold, LossCause cause, String reason) {
        keeper.remove(hold);
        HeldPermit permit = hold.permit();
        if (permit != null && permit.state() == HeldPermit.State.HELD) {
            // A log may be slow, and no other thread is to wait for it.
            lock.wakeAfterwards(() -> LOG.warn(
                    "Slot {} of semaphore '{}' is lost: {}", hold.hold().slot(), name, reason));
            permit.markLost(cause, reason);
        }
    }
}
