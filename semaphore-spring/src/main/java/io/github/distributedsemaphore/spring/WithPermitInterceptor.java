package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.InterruptOnLoss;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.util.ClassUtils;

/** Runs the methods that {@link PermitMethods} finds. */
final class WithPermitInterceptor implements MethodInterceptor {
    private static final Logger LOG = LoggerFactory.getLogger(WithPermit.class);

    private final PermitMethods methods;

    WithPermitInterceptor(PermitMethods methods) {
        this.methods = methods;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        PermitMethod rule = methods.of(call);
        DistributedSemaphore semaphore = rule.semaphore(call);
        CurrentPermit.refuseNested(semaphore);
        int permits = rule.permits(call);
        return switch (rule.result()) {
            case PLAIN -> runPlain(rule, semaphore, permits, call);
            case STAGE -> StageCall.start(rule, semaphore, permits, resumption(rule, later(call)));
            case MONO -> PublisherCall.mono(rule, semaphore, permits, later(call));
            case FLUX -> PublisherCall.flux(rule, semaphore, permits, later(call));
        };
    }

    /** A call keeps its place in the chain of interceptors: one that goes on later, or twice, needs a copy. */
    private static ProxyMethodInvocation later(MethodInvocation call) {
        return (ProxyMethodInvocation) ((ProxyMethodInvocation) call).invocableClone();
    }

    /**
     * Goes on with a copy on another thread, which gets what the caller's thread has from Spring: the class loader of the application, where that
     * of the library finds nothing, and the call, which AspectJ's advice looks for in a thread-local.
     */
    static CurrentPermit.Call resumption(PermitMethod rule, MethodInvocation copy) {
        return () -> {
            Thread thread = Thread.currentThread();
            ClassLoader before = thread.getContextClassLoader();
            ClassUtils.overrideThreadContextClassLoader(rule.classLoader());
            try {
                return ExposeInvocationInterceptor.INSTANCE.invoke(copy);
            } finally {
                thread.setContextClassLoader(before);
            }
        };
    }

    private static @Nullable Object runPlain(
            PermitMethod rule, DistributedSemaphore semaphore, int permits, MethodInvocation call) throws Throwable {
        Optional<PermitGroup> acquired;
        try {
            acquired = rule.skips()
                    ? semaphore.tryAcquire(permits, rule.maxWait())
                    : Optional.of(semaphore.acquire(permits, rule.maxWait()));
        } catch (InterruptedException e) {
            throw rule.interrupted(semaphore, e);
        }
        if (acquired.isEmpty()) {
            return rule.skipped();
        }
        return runAndRelease(rule, semaphore, acquired.get(), call);
    }

    private static @Nullable Object runAndRelease(
            PermitMethod rule, DistributedSemaphore semaphore, PermitGroup group, MethodInvocation call)
            throws Throwable {
        Consumer<PermitLoss> warning = warning();
        if (!rule.interrupts()) {
            group.onLost(warning);
        }
        Object result = null;
        Throwable failure = null;
        try {
            result = rule.requireDone(runBody(rule, semaphore, group, call::proceed));
        } catch (Throwable e) {
            failure = e;
        }
        PermitLoss loss = release(group).orElse(null);
        if (loss != null && rule.interrupts()) {
            throw lost(loss, failure);
        }
        if (loss != null) {
            warning.accept(loss);
        }
        if (failure != null) {
            throw failure;
        }
        return result;
    }

    /** A permit may be lost before anybody was told. */
    private static Optional<PermitLoss> release(PermitGroup group) {
        try {
            return PermitLoss.foundBy(group, group.release());
        } catch (RuntimeException e) {
            notConfirmed(group, e);
            return Optional.empty();
        }
    }

    static void notConfirmed(PermitGroup group, Throwable problem) {
        LOG.warn("The release of a permit of '{}' is not confirmed", group.semaphoreName(), problem);
    }

    /** What a call fails with whose permit was lost, whatever its method did. */
    static PermitLostException lost(PermitLoss loss, @Nullable Throwable failure) {
        if (failure instanceof PermitLostException known
                && known.loss().semaphoreName().equals(loss.semaphoreName())) {
            return known;
        }
        PermitLostException lost = new PermitLostException(loss);
        lost.initCause(failure);
        return lost;
    }

    /** Runs a method until it returns. A loss interrupts it, and it fails then, if the rule says so. */
    static @Nullable Object runBody(
            PermitMethod rule, DistributedSemaphore semaphore, PermitGroup group, CurrentPermit.Call body)
            throws Throwable {
        if (!rule.interrupts()) {
            return CurrentPermit.during(semaphore, group, body);
        }
        try (InterruptOnLoss guard = InterruptOnLoss.guard(group)) {
            Object result;
            try {
                result = CurrentPermit.during(semaphore, group, body);
            } catch (Throwable failure) {
                PermitLoss loss = guard.loss().orElse(null);
                throw loss == null ? failure : lost(loss, failure);
            }
            guard.throwIfLost();
            return result;
        }
    }

    /** Logs the loss of each slot once: a listener and the release may both tell of it. */
    static Consumer<PermitLoss> warning() {
        Set<Integer> slots = ConcurrentHashMap.newKeySet();
        return loss -> {
            if (slots.add(loss.slot())) {
                LOG.warn(
                        "A @WithPermit method went on without its permit: slot {} of '{}' is lost: {}",
                        loss.slot(),
                        loss.semaphoreName(),
                        loss.reason());
            }
        };
    }
}
