package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreListener;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Follows which semaphores an application uses and how much it holds. It looks at each client before another bean has it, so that it sees
 * all grants but those that the bean method of the client itself has had. These do not count. If one of them is lost, or another listener saw
 * it granted, what is held is one too few from then on. Thread-safe.
 */
final class SemaphoreActivity implements BeanPostProcessor, DisposableBean {
    private static final Logger LOG = LoggerFactory.getLogger(SemaphoreActivity.class);

    /** An application that makes up names from its data has no end of them. */
    private static final int MOST_NAMES = 100;

    private static final long LOOK_NANOS = Duration.ofMillis(10).toNanos();

    private final Collection<String> configured = ConcurrentHashMap.newKeySet();
    private final Map<SemaphoreClient, Following> followed = Collections.synchronizedMap(new IdentityHashMap<>());

    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (bean instanceof SemaphoreClient client) {
            follow(client, true);
        }
        return bean;
    }

    /** Idempotent. The client of a parent context is not this context's own, and what it holds is not counted. */
    void follow(SemaphoreClient client, boolean own) {
        Following following = new Following(client, own);
        if (followed.putIfAbsent(client, following) == null) {
            client.addListener(following);
        }
    }

    /** The client of a parent context lives on. */
    @Override
    public void destroy() {
        followed.forEach(SemaphoreClient::removeListener);
    }

    /** What one client says. */
    private final class Following implements SemaphoreListener {
        private final SemaphoreClient client;
        private final boolean own;
        private final AtomicInteger count = new AtomicInteger();

        /** A client forgets a semaphore that rests, and its statistics with it, unless somebody has it. */
        private final Map<String, DistributedSemaphore> kept = new ConcurrentHashMap<>();

        Following(SemaphoreClient client, boolean own) {
            this.client = client;
            this.own = own;
        }

        @Override
        public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
            count(1);
            used(semaphoreName);
        }

        @Override
        public void onRefused(String semaphoreName) {
            used(semaphoreName);
        }

        @Override
        public void onTimedOut(String semaphoreName, long waitedNanos) {
            used(semaphoreName);
        }

        @Override
        public void onWithdrawn(String semaphoreName, long waitedNanos) {
            used(semaphoreName);
        }

        @Override
        public void onFailed(String semaphoreName, long waitedNanos) {
            used(semaphoreName);
        }

        @Override
        public void onReleased(String semaphoreName, int slot, long heldNanos) {
            boolean sawGrant = heldNanos >= 0;
            if (sawGrant) {
                count(-1);
            }
        }

        @Override
        public void onLost(String semaphoreName, int slot, LossCause cause) {
            count(-1);
        }

        /** Else a semaphore would be missing for as long as its first call waits. */
        @Override
        public void onExchange(String semaphoreName, int calls, int givenBack, long tookNanos, boolean answered) {
            if (calls > 0) {
                used(semaphoreName);
            }
        }

        /** A release may be told before its grant, so this is below zero at times. */
        private void count(int change) {
            if (own) {
                count.addAndGet(change);
            }
        }

        int held() {
            return Math.max(0, count.get());
        }

        /** A call for permits has asked the backend or has ended, in whichever way. */
        private void used(String semaphoreName) {
            boolean listed = kept.size() < MOST_NAMES || configured.contains(semaphoreName);
            if (listed && !kept.containsKey(semaphoreName)) {
                try {
                    kept.put(semaphoreName, client.semaphore(semaphoreName));
                } catch (SemaphoreException e) {
                    LOG.trace("Semaphore '{}' of a closed client is not kept", semaphoreName, e);
                }
            }
        }
    }

    void configured(String name) {
        configured.add(name);
    }

    /** What is configured, and the first hundred names that a client was used for. */
    SortedSet<String> names(SemaphoreClient client) {
        SortedSet<String> names = new TreeSet<>(configured);
        Following following = followed.get(client);
        if (following != null) {
            names.addAll(following.kept.keySet());
        }
        return names;
    }

    /** By one client. Empty for that of a parent context: what it took before this context was there is not known here. */
    OptionalInt held(SemaphoreClient client) {
        Following following = followed.get(client);
        return following == null || !following.own ? OptionalInt.empty() : OptionalInt.of(following.held());
    }

    /** By all clients of this context. */
    int held() {
        synchronized (followed) {
            return followed.values().stream().mapToInt(Following::held).sum();
        }
    }

    /** Waits until nothing is held, or the time is over, or the thread is interrupted. */
    boolean awaitNothingHeld(Duration longest) {
        Deadline end = Deadline.after(System.nanoTime(), longest);
        while (held() > 0
                && !end.isPast(System.nanoTime())
                && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return held() == 0;
    }
}
