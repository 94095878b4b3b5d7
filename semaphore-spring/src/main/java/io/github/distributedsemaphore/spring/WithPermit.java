package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Has a method of a Spring bean run under a permit: at most as many calls at once, over all processes, as the semaphore has slots.
 *
 * <pre>{@code
 * @WithPermit("exports")
 * public void export() { … }
 *
 * @WithPermit(name = "export-#{#tenant}", maxWait = "10s", ifFull = IfFull.SKIP)
 * public Optional<Report> export(String tenant) { … }
 * }</pre>
 *
 * <p>The call goes through the proxy of the bean: a call within the same object is not guarded, see {@link CurrentPermit#require}. A
 * method that a proxy cannot reach (private, static, final, in a final class) stops the start of the application with a message.
 *
 * <p>The permit is taken before the transaction of {@code @Transactional} begins and given back after its commit. A void method with
 * {@code @Async} takes it on the thread of the executor. The {@code @Retryable} of Spring Framework 7 takes one for each try. That of
 * Spring Retry is inside the permit, unless its order is below that of {@link WithPermitConfiguration.Settings}.
 *
 * <p>A method may return:
 *
 * <ul>
 *   <li>anything plain: the calling thread waits for the permit and holds it until the method returns;
 *   <li>a {@code CompletableFuture} or {@code CompletionStage}: the calling thread does not wait. The method is called when the permit is
 *       there, never on the calling thread, and the permit is held until the stage completes. If the permit is there at once, the method
 *       runs on a new thread {@code with-permit-NAME}, else on a thread of the client or of its {@code callbackExecutor}. Cancelling the
 *       future, or completing it as {@code orTimeout} does, withdraws the request for a permit. If the method was called already, it
 *       goes on and keeps its permit until its stage completes. Leave out {@code @Async}: with it the caller gets a future of Spring's instead,
 *       whose cancellation reaches neither the wait nor the method, and the executor's thread waits for the stage;
 *   <li>a {@code Mono} or {@code Flux}, with {@code semaphore-reactor} on the path: each subscription takes a permit, calls the method, and
 *       holds the permit until the end of what it returned.
 * </ul>
 *
 * <p>A {@code Future}, a type of another reactive library, a Kotlin {@code suspend} function and Kotlin's {@code Flow} and {@code Deferred} are
 * refused at the start, since the permit would go back before the work is done. A call fails if it returns one of these, or a future, and
 * its declared type does not say so.
 *
 * <p>Not reentrant: a call within a call for the same semaphore on the same thread fails at once with {@link IllegalStateException}, since it
 * would wait for a second slot. A thread that is interrupted while it waits gets {@link InterruptedException} if the method
 * declares it, otherwise {@link java.util.concurrent.CancellationException} with the interrupt flag set; the method did not run.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface WithPermit {
    /**
     * The name of the semaphore, as {@link #name}.
     *
     * @return the name or its template
     */
    @AliasFor("name")
    String value() default "";

    /**
     * The name of the semaphore: text with placeholders such as <code>${exports.semaphore}</code>, which are read at the start, and
     * expressions such as <code>#{#tenant}</code> or <code>#{&#64;tenants.nameOf(#p0)}</code>, which are evaluated for each call. An expression that
     * is null or blank fails the call with {@link IllegalArgumentException}, since the calls would share a semaphore by mistake.
     *
     * @return the name or its template
     */
    @AliasFor("value")
    String name() default "";

    /**
     * How many permits a call takes, all or none: a number, a placeholder or an expression, as in {@link #name}.
     *
     * @return at least 1
     */
    String permits() default "1";

    /**
     * The longest wait for a permit, such as {@code 500ms}, {@code 10s} or {@code PT1M}; {@code 0s} is one attempt. May be a placeholder.
     *
     * @return a duration with its unit; empty is the default, 30 seconds unless the application says otherwise
     */
    String maxWait() default "";

    /**
     * What happens to a call that got no permit in time.
     *
     * @return by default it fails
     */
    IfFull ifFull() default IfFull.THROW;

    /**
     * What happens to a call whose permit is lost while the method runs.
     *
     * @return by default it is interrupted
     */
    OnLoss onLoss() default OnLoss.INTERRUPT;

    /**
     * Which client, where an application has several.
     *
     * @return a qualifier or a bean name; empty is the only or primary one
     */
    String client() default "";

    /** What happens to a call that got no permit in time. */
    enum IfFull {
        /** It fails with {@link SemaphoreTimeoutException}. */
        THROW,
        /**
         * It returns null, an empty {@code Optional}, {@code Mono} or {@code Flux}, or a future that completes with one of the first two; the
         * method is not called. Refused at the start for a method that returns a primitive.
         */
        SKIP
    }

    /** What happens to a call whose permit is lost while the method runs. */
    enum OnLoss {
        /**
         * The thread is interrupted, a future, {@code Mono} or {@code Flux} is cancelled, and the call fails with {@link PermitLostException}, whatever the
         * method does then. What the method threw is the cause.
         */
        INTERRUPT,
        /** The loss is logged, and the method goes on. */
        CONTINUE
    }
}
