package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.report.Measurements;
import io.github.distributedsemaphore.tck.report.PortUse;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Puts proxies around what a client gives out, which note the calls of each rule and time those that do not wait. Futures
 * are passed through as they are, because cancelling a copy would not cancel the original.
 */
public final class PortRecorder {
    private static final Set<String> WAITING =
            Set.of("acquire", "acquireAsync", "awaitReleased", "withPermit", "close", "abort", "onLost");

    private final PortUse use;
    private final Measurements measurements;

    PortRecorder(PortUse use, Measurements measurements) {
        this.use = use;
        this.measurements = measurements;
    }

    /**
     * Puts the proxy around a client.
     *
     * @param threw is given what a call threw, and the name of the call
     */
    public SemaphoreClient recording(SemaphoreClient client, List<String> rules, BiConsumer<String, Throwable> threw) {
        return new Handler(rules, threw).wrap(SemaphoreClient.class, client);
    }

    private final class Handler {
        private final List<String> rules;
        private final BiConsumer<String, Throwable> threw;
        private final Map<Object, Object> singletons = new ConcurrentHashMap<>();

        Handler(List<String> rules, BiConsumer<String, Throwable> threw) {
            this.rules = rules;
            this.threw = threw;
        }

        <T> T wrap(Class<T> type, T target) {
            InvocationHandler handler = (proxy, method, args) -> call(target, method, args);
            return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
        }

        private @Nullable Object call(Object target, Method method, Object @Nullable [] args) throws Throwable {
            if (method.getDeclaringClass() == Object.class) {
                return ofObject(target, method, args);
            }
            use.called(method, rules);
            long start = System.nanoTime();
            try {
                return wrapped(method.invoke(target, args));
            } catch (InvocationTargetException e) {
                Throwable thrown = e.getCause() == null ? e : e.getCause();
                threw.accept(method.getName(), thrown);
                throw thrown;
            } finally {
                measure(method, System.nanoTime() - start);
            }
        }

        private @Nullable Object ofObject(Object target, Method method, Object @Nullable [] args) throws Throwable {
            if (method.getName().equals("equals") && args != null) {
                return args[0] != null
                        && Proxy.isProxyClass(args[0].getClass())
                        && args[0].toString().equals(target.toString())
                        && args[0].hashCode() == target.hashCode();
            }
            return method.invoke(target, args);
        }

        private void measure(Method method, long nanos) {
            boolean waits = WAITING.contains(method.getName())
                    || Arrays.asList(method.getParameterTypes()).contains(Duration.class);
            if (method.getName().equals("release")) {
                measurements.add(Bound.RELEASE, nanos);
            }
            if (!waits) {
                measurements.add(Bound.OPERATION, nanos);
            }
        }

        private @Nullable Object wrapped(@Nullable Object result) {
            if (result instanceof Permit permit) {
                return wrap(Permit.class, permit);
            }
            if (result instanceof PermitGroup group) {
                return wrap(PermitGroup.class, group);
            }
            if (result instanceof DistributedSemaphore semaphore) {
                return singletons.computeIfAbsent(semaphore, key -> wrap(DistributedSemaphore.class, semaphore));
            }
            if (result instanceof SemaphoreAdmin admin) {
                return singletons.computeIfAbsent(admin, key -> wrap(SemaphoreAdmin.class, admin));
            }
            if (result instanceof Optional<?> optional) {
                return optional.map(this::wrapped);
            }
            if (result instanceof List<?> list && list.stream().anyMatch(Permit.class::isInstance)) {
                return list.stream().map(this::wrapped).toList();
            }
            return result;
        }
    }
}
