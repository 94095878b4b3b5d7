package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.report.PortUse;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Every public method that may wait. The rules about time-outs, interrupts, closing and outages go through this table, so that none
 * of them leaves a method out; a method that waits and is missing here fails them all.
 */
public final class WaitingCalls {
    /** What a call waits for. */
    public enum For {
        /** A permit of a semaphore of at least two, which are all held. */
        A_PERMIT,
        /** The release of a retired slot. */
        A_RETIRED_HOLDER,
        /** No more than an answer. */
        AN_ANSWER
    }

    /** How it is made. */
    @FunctionalInterface
    public interface Body {
        @Nullable
        Object call(SemaphoreClient client, DistributedSemaphore semaphore, Duration time) throws Exception;
    }

    /**
     * One method.
     *
     * @param method as it is declared
     * @param what what it waits for
     * @param body calls it, and waits for its future if it returns one
     */
    public record Call(String method, For what, Body body) {
        /** Whether its caller says how long to wait. */
        public boolean isLimited() {
            return method.contains("Duration");
        }

        /** Whether the calling thread waits, so that an interrupt ends it. */
        public boolean isBlocking() {
            return !method.contains("Async");
        }

        @Override
        public String toString() {
            return method;
        }
    }

    private static final List<Call> ALL = List.of(
            permit("acquire()", (semaphore, time) -> semaphore.acquire()),
            permit("acquire(Duration)", DistributedSemaphore::acquire),
            permit("acquire(int)", (semaphore, time) -> semaphore.acquire(2)),
            permit("acquire(int, Duration)", (semaphore, time) -> semaphore.acquire(2, time)),
            permit("tryAcquire(Duration)", DistributedSemaphore::tryAcquire),
            permit("tryAcquire(int, Duration)", (semaphore, time) -> semaphore.tryAcquire(2, time)),
            permit("acquireAsync()", (semaphore, time) -> Waiters.joined(semaphore.acquireAsync())),
            permit("acquireAsync(Duration)", (semaphore, time) -> Waiters.joined(semaphore.acquireAsync(time))),
            permit("acquireAsync(int)", (semaphore, time) -> Waiters.joined(semaphore.acquireAsync(2))),
            permit("acquireAsync(int, Duration)", (semaphore, time) -> Waiters.joined(semaphore.acquireAsync(2, time))),
            permit(
                    "withPermit(Duration, PermitFunction)",
                    (semaphore, time) -> semaphore.withPermit(time, permit -> permit.slot())),
            permit("runWithPermit(Duration, PermitTask)", (semaphore, time) -> {
                semaphore.runWithPermit(time, permit -> {});
                return true;
            }),
            permit(
                    "tryRunWithPermit(Duration, PermitTask)",
                    (semaphore, time) -> semaphore.tryRunWithPermit(time, permit -> {})),
            permit(
                    "withPermitAsync(Duration, Function)",
                    (semaphore, time) -> Waiters.joined(semaphore.withPermitAsync(
                            time, permit -> CompletableFuture.completedFuture(permit.slot())))),
            new Call(
                    "SemaphoreAdmin.awaitReleased(String, Duration)",
                    For.A_RETIRED_HOLDER,
                    (client, semaphore, time) -> client.admin().awaitReleased(semaphore.name(), time)),
            new Call("SemaphoreClient.ping(Duration)", For.AN_ANSWER, (client, semaphore, time) -> {
                client.ping(time);
                return true;
            }));

    /** They wait for an answer to something that is done whatever becomes of the answer, and have rules of their own. */
    private static final Set<String> RELEASES = Set.of("Permit.releaseAsync()", "PermitGroup.releaseAsync()");

    private WaitingCalls() {}

    @FunctionalInterface
    private interface PermitBody {
        @Nullable
        Object call(DistributedSemaphore semaphore, Duration time) throws Exception;
    }

    private static Call permit(String method, PermitBody body) {
        return new Call(
                "DistributedSemaphore." + method,
                For.A_PERMIT,
                (client, semaphore, time) -> body.call(semaphore, time));
    }

    /**
     * Returns the table.
     *
     * @throws AssertionError if a public method may wait and is missing, or one that is here does not exist
     */
    public static List<Call> all() {
        Set<String> listed = ALL.stream().map(Call::method).collect(Collectors.toCollection(TreeSet::new));
        listed.addAll(RELEASES);
        Set<String> declared = declared();
        if (!listed.equals(declared)) {
            Set<String> missing = new TreeSet<>(declared);
            missing.removeAll(listed);
            Set<String> unknown = new TreeSet<>(listed);
            unknown.removeAll(declared);
            throw new AssertionError("the kit's table of methods that may wait lacks " + missing
                    + " and has these that do not exist: " + unknown);
        }
        return ALL;
    }

    /** Those that wait for one of these. */
    public static List<Call> waitingFor(For... what) {
        return all().stream()
                .filter(call -> Arrays.asList(what).contains(call.what()))
                .toList();
    }

    private static Set<String> declared() {
        return Stream.of(
                        DistributedSemaphore.class,
                        SemaphoreAdmin.class,
                        SemaphoreClient.class,
                        Permit.class,
                        PermitGroup.class)
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(method -> !method.isSynthetic() && mayWait(method))
                .map(PortUse::signature)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static boolean mayWait(Method method) {
        return CompletionStage.class.isAssignableFrom(method.getReturnType())
                || List.of(method.getParameterTypes()).contains(Duration.class)
                || List.of(method.getExceptionTypes()).contains(InterruptedException.class);
    }
}
