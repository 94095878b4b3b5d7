package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spring.WithPermit.IfFull;
import io.github.distributedsemaphore.spring.WithPermit.OnLoss;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

/** What {@link WithPermit} says about one method, checked and parsed at the start of the application. */
final class PermitMethod {
    /** When the work of a call is done. */
    enum Result {
        /** When the method returns. */
        PLAIN,
        /** When the stage completes. */
        STAGE,
        /** When a {@code Mono} ends. */
        MONO,
        /** When a {@code Flux} ends. */
        FLUX
    }

    private static final boolean REACTOR = ClassUtils.isPresent(
            "io.github.distributedsemaphore.reactor.ReactorPermits", PermitMethod.class.getClassLoader());

    private static final List<String> KOTLIN = List.of("kotlinx.coroutines.flow.Flow", "kotlinx.coroutines.Deferred");

    private final Method method;
    private final ResolvableType type;
    private final Result result;
    private final Template name;
    private final Template permits;
    private final Duration maxWait;
    private final boolean skips;
    private final boolean interrupts;
    private final Supplier<SemaphoreClient> client;
    private final ConfigurableListableBeanFactory beanFactory;

    /** The class of the bean says what the type variables of an inherited method are. */
    PermitMethod(
            Method method,
            Class<?> beanClass,
            WithPermit rule,
            Duration defaultMaxWait,
            ConfigurableListableBeanFactory beanFactory) {
        this.method = method;
        this.type = ResolvableType.forMethodReturnType(method, beanClass);
        this.result = resultOf(method, type.resolve(method.getReturnType()));
        this.name = new Template(rule.name(), beanFactory);
        require(!name.text().isBlank(), "has no name");
        this.permits = new Template(rule.permits(), beanFactory);
        if (permits.isFixed()) {
            number(permits.text());
        }
        this.maxWait = maxWait(Template.withoutPlaceholders(rule.maxWait(), beanFactory), defaultMaxWait);
        this.skips = rule.ifFull() == IfFull.SKIP;
        require(
                !skips || !method.getReturnType().isPrimitive() || method.getReturnType() == void.class,
                "has ifFull = SKIP, and a call that is skipped returns null, which its type "
                        + method.getReturnType().getName() + " cannot be: return an Optional");
        this.interrupts = rule.onLoss() == OnLoss.INTERRUPT;
        this.beanFactory = beanFactory;
        this.client = SingletonSupplier.of(() -> client(rule.client(), beanFactory));
    }

    private static SemaphoreClient client(String qualifier, ConfigurableListableBeanFactory beanFactory) {
        return qualifier.isEmpty()
                ? beanFactory.getBean(SemaphoreClient.class)
                : BeanFactoryAnnotationUtils.qualifiedBeanOfType(beanFactory, SemaphoreClient.class, qualifier);
    }

    private Result resultOf(Method method, Class<?> type) {
        Class<?>[] parameters = method.getParameterTypes();
        require(
                parameters.length == 0
                        || !parameters[parameters.length - 1].getName().equals("kotlin.coroutines.Continuation"),
                "is a suspend function, whose permit would go back when it suspends: use withPermit of semaphore-kotlin");
        if (type == CompletableFuture.class || type == CompletionStage.class) {
            return Result.STAGE;
        }
        boolean mono = type.getName().equals("reactor.core.publisher.Mono");
        boolean flux = type.getName().equals("reactor.core.publisher.Flux")
                || type.getName().equals("org.reactivestreams.Publisher");
        if (mono || flux) {
            require(REACTOR, "returns a " + type.getSimpleName() + ": add the module semaphore-reactor to the path");
            return mono ? Result.MONO : Result.FLUX;
        }
        require(
                !isLater(type),
                "returns a " + type.getName() + ", and the permit would go back before its work is done: return a"
                        + " CompletableFuture, a Mono or a Flux");
        return Result.PLAIN;
    }

    /** Whether the work of a value of this type may go on after the method returned it. */
    private static boolean isLater(Class<?> type) {
        return Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                // Spring's registry has it only where Reactive Streams are on the path.
                || Flow.Publisher.class.isAssignableFrom(type)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null
                || KOTLIN.contains(type.getName())
                || ClassUtils.getAllInterfacesForClassAsSet(type).stream()
                        .anyMatch(parent -> KOTLIN.contains(parent.getName()));
    }

    /** Fails a call whose declared type is wider than what it returned: its permit goes back now. */
    @Nullable
    Object requireDone(@Nullable Object value) {
        if (value != null && isLater(value.getClass())) {
            throw new IllegalStateException(
                    sentence("returned a " + value.getClass().getName()
                            + ", and its permit goes back before that work is done: declare the type"));
        }
        return value;
    }

    private Duration maxWait(String text, Duration otherwise) {
        if (text.isBlank()) {
            return otherwise;
        }
        // Spring would take it for milliseconds.
        require(
                !text.matches("[-+]?\\d+"),
                "has maxWait = '" + text + "', which has no unit: write " + text + "s or " + text + "ms");
        Duration parsed;
        try {
            parsed = DurationFormatterUtils.detectAndParse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    sentence("has maxWait = '" + text + "', which is no duration such as 500ms, 10s or PT1M"), e);
        }
        require(!parsed.isNegative(), "has maxWait = '" + text + "', it must not be negative");
        return parsed;
    }

    private int number(String text) {
        require(
                text.matches("\\d{1,9}") && Integer.parseInt(text) > 0,
                "has permits = '" + text + "', it must be a number from 1");
        return Integer.parseInt(text);
    }

    private void require(boolean condition, String problem) {
        if (!condition) {
            throw new IllegalArgumentException(sentence(problem));
        }
    }

    private String sentence(String problem) {
        return "@WithPermit: the method " + method.toGenericString() + " " + problem;
    }

    Result result() {
        return result;
    }

    Duration maxWait() {
        return maxWait;
    }

    boolean skips() {
        return skips;
    }

    boolean interrupts() {
        return interrupts;
    }

    /** That of the application; null is the system's. */
    @Nullable
    ClassLoader classLoader() {
        return beanFactory.getBeanClassLoader();
    }

    DistributedSemaphore semaphore(MethodInvocation call) {
        return client.get().semaphore(name.evaluate(call.getThis(), method, call.getArguments()));
    }

    int permits(MethodInvocation call) {
        return number(permits.evaluate(call.getThis(), method, call.getArguments()));
    }

    /** What a call that is skipped returns, or what its future completes with. */
    @Nullable
    Object skipped() {
        Class<?> value = (result == Result.STAGE ? type.getGeneric(0) : type).resolve(Object.class);
        return value == Optional.class ? Optional.empty() : null;
    }

    /** The exception of a call that was interrupted while it waited. */
    Exception interrupted(DistributedSemaphore semaphore, InterruptedException cause) {
        boolean declared = Arrays.stream(method.getExceptionTypes()).anyMatch(type -> type.isInstance(cause));
        if (declared) {
            return cause;
        }
        Thread.currentThread().interrupt();
        return (Exception)
                new CancellationException("Interrupted while waiting for a permit of '" + semaphore.name() + "'")
                        .initCause(cause);
    }
}
