package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitFunction;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.broken.Bent.Call;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/** Wrong permits. */
final class BentPermits {
    private static final Cleaner CLEANER = Cleaner.create();

    private BentPermits() {}

    private static boolean releases(Call call) {
        return call.is(Permit.class, "release", "close");
    }

    static Bend blindRelease(ProbedServer server) {
        return call -> {
            boolean again = releases(call) && call.target(Permit.class).verify() == Verification.RELEASED;
            Object result = call.proceed();
            if (again) {
                Permit permit = call.target(Permit.class);
                server.removeHolder(permit.semaphoreName(), permit.slot());
            }
            return result;
        };
    }

    static Bend wrappingFailures(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (IOException e) {
                throw new IllegalStateException("task failed", e);
            }
        };
    }

    static Bend keepingAfterFailure(ProbedServer server) {
        return call -> {
            if (call.is(DistributedSemaphore.class, "withPermit")) {
                DistributedSemaphore semaphore = call.target(DistributedSemaphore.class);
                @SuppressWarnings("unchecked")
                PermitFunction<Object, Exception> task = call.argument(1, PermitFunction.class);
                Permit permit = semaphore.acquire(call.argument(0, Duration.class));
                Object result = task.apply(permit);
                permit.release();
                return result;
            }
            return call.proceed();
        };
    }

    static Bend boastful(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            return call.is(Permit.class, "release") ? ReleaseOutcome.RELEASED : result;
        };
    }

    static Bend threadBound(ProbedServer server) {
        Map<Permit, Thread> owners = new ConcurrentHashMap<>();
        return call -> {
            if (call.target() instanceof Permit permit
                    && releases(call)
                    && owners.getOrDefault(permit, Thread.currentThread()) != Thread.currentThread()) {
                return call.is(Permit.class, "release") ? ReleaseOutcome.ALREADY_RELEASED : null;
            }
            if (call.is(DistributedSemaphore.class, "acquire") && call.has(Duration.class)) {
                Permit permit = call.target(DistributedSemaphore.class).acquire(call.argument(0, Duration.class));
                owners.put(permit, Thread.currentThread());
                return Bent.around(Permit.class, permit, call.bend());
            }
            return call.proceed();
        };
    }

    static Bend releasingGarbage(ProbedServer server) {
        return call -> call.is(DistributedSemaphore.class, "tryAcquire") && call.has()
                ? call.target(DistributedSemaphore.class).tryAcquire().map(permit -> {
                    Permit bent = Bent.around(Permit.class, permit, call.bend());
                    CLEANER.register(bent, permit::release);
                    return bent;
                })
                : call.proceed();
    }

    static Bend forgettingSemaphores(ProbedServer server) {
        return call -> {
            Object right = call.proceed();
            if (right != null && call.is(SemaphoreClient.class, "semaphore")) {
                String name = call.argument(0, String.class);
                CLEANER.register(right, () -> server.removeHolder(name, 1));
            }
            return right;
        };
    }

    static Bend allOrNothing(ProbedServer server) {
        Map<Permit, PermitGroup> groups = new ConcurrentHashMap<>();
        return call -> {
            if (call.target() instanceof PermitGroup group && call.is(PermitGroup.class, "permits")) {
                group.permits().forEach(permit -> groups.put(permit, group));
            }
            Object result = call.proceed();
            if (releases(call) && groups.containsKey(call.target(Permit.class))) {
                groups.get(call.target(Permit.class)).close();
            }
            return result;
        };
    }

    static Bend losingInterruptedReleases(ProbedServer server) {
        return call -> {
            if (releases(call) && Thread.currentThread().isInterrupted()) {
                return call.is(Permit.class, "release") ? ReleaseOutcome.RELEASED : null;
            }
            return call.proceed();
        };
    }

    static Bend eatingInterrupts(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            if (releases(call)) {
                Thread.interrupted();
            }
            return result;
        };
    }

    static Bend optimistic(ProbedServer server) {
        return call -> call.is(Permit.class, "isValid")
                ? call.target(Permit.class).verify() != Verification.RELEASED
                : call.proceed();
    }

    @SuppressWarnings("unchecked")
    private static Consumer<PermitLoss> listener(Call call) {
        return call.argument(0, Consumer.class);
    }

    static Bend tellingTwice(ProbedServer server) {
        return call -> {
            if (call.is(Permit.class, "onLost")) {
                Consumer<PermitLoss> listener = listener(call);
                return call.proceedWith((Consumer<PermitLoss>) loss -> {
                    listener.accept(loss);
                    listener.accept(loss);
                });
            }
            return call.proceed();
        };
    }

    static Bend tellingReleases(ProbedServer server) {
        Map<Permit, Consumer<PermitLoss>> listeners = new ConcurrentHashMap<>();
        return call -> {
            if (call.is(Permit.class, "onLost")) {
                listeners.put(call.target(Permit.class), listener(call));
            }
            Object result = call.proceed();
            if (releases(call) && listeners.containsKey(call.target(Permit.class))) {
                Permit permit = call.target(Permit.class);
                listeners
                        .get(permit)
                        .accept(new PermitLoss(
                                permit.semaphoreName(), permit.slot(), LossCause.TAKEN_BY_BACKEND, "released"));
            }
            return result;
        };
    }

    static Bend ignoringLateListeners(ProbedServer server) {
        return call -> {
            boolean late =
                    call.is(Permit.class, "onLost") && call.target(Permit.class).verify() == Verification.LOST;
            return late ? null : call.proceed();
        };
    }

    static Bend oneListenerThread(ProbedServer server) {
        BlockingQueue<Runnable> news = new LinkedBlockingQueue<>();
        Set<Boolean> started = ConcurrentHashMap.newKeySet();
        return call -> {
            if (!call.is(Permit.class, "onLost")) {
                return call.proceed();
            }
            if (started.add(true)) {
                Ghosts.later(() -> Ghosts.runAll(news));
            }
            Consumer<PermitLoss> listener = listener(call);
            return call.proceedWith((Consumer<PermitLoss>) loss -> news.add(() -> listener.accept(loss)));
        };
    }

    static Bend readingFencesLate(ProbedServer server) {
        return call -> {
            Object right = call.proceed();
            boolean released =
                    right instanceof Fence && call.target(Permit.class).verify() == Verification.RELEASED;
            return released && right instanceof Fence fence ? new Fence(fence.slot(), fence.epoch() + 1) : right;
        };
    }

    static Bend oneFenceForAll(ProbedServer server) {
        Map<Permit, Fence> fences = new ConcurrentHashMap<>();
        return call -> {
            if (call.target() instanceof PermitGroup group && call.is(PermitGroup.class, "permits")) {
                group.permits()
                        .forEach(permit ->
                                fences.put(permit, group.permits().get(0).fence()));
            }
            Object right = call.proceed();
            return right instanceof Fence fence ? fences.getOrDefault(call.target(Permit.class), fence) : right;
        };
    }
}
