package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.reactor.ReactorPermits;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Calls of methods that return a {@code Mono} or a {@code Flux}. Apart, since Reactor need not be on the path. */
final class PublisherCall {
    private PublisherCall() {}

    static Mono<Object> mono(
            PermitMethod rule, DistributedSemaphore semaphore, int permits, ProxyMethodInvocation method) {
        return flux(rule, semaphore, permits, method).singleOrEmpty();
    }

    static Flux<Object> flux(
            PermitMethod rule, DistributedSemaphore semaphore, int permits, ProxyMethodInvocation method) {
        return Flux.defer(() -> {
            // The method itself may fail with a time-out of another semaphore, and then it was not skipped.
            AtomicBoolean begun = new AtomicBoolean();
            Supplier<CompletableFuture<PermitGroup>> acquire = () -> semaphore.acquireAsync(permits, rule.maxWait());
            Consumer<PermitLoss> warning = WithPermitInterceptor.warning();
            Function<PermitGroup, Publisher<Object>> work = group -> {
                begun.set(true);
                return begin(rule, semaphore, group, method, warning);
            };
            Flux<Object> guarded = rule.interrupts()
                    ? ReactorPermits.usingUntilLost(acquire, work)
                    : ReactorPermits.using(acquire, work, warning);
            return rule.skips()
                    ? guarded.onErrorResume(
                            failure -> failure instanceof SemaphoreTimeoutException && !begun.get(),
                            failure -> Flux.empty())
                    : guarded;
        });
    }

    private static Publisher<Object> begin(
            PermitMethod rule,
            DistributedSemaphore semaphore,
            PermitGroup group,
            ProxyMethodInvocation method,
            Consumer<PermitLoss> warning) {
        Publisher<?> work;
        try {
            work = (Publisher<?>) WithPermitInterceptor.runBody(
                    rule, semaphore, group, WithPermitInterceptor.resumption(rule, method.invocableClone()));
        } catch (Throwable failure) {
            return Mono.error(failure);
        }
        if (work == null) {
            return Mono.empty();
        }
        if (!rule.interrupts()) {
            group.onLost(warning);
        }
        return Flux.from(work);
    }
}
