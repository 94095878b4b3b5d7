package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Puts something wrong around an interface of either port, and around everything that it gives out. */
final class Bent {
    private static final List<Class<?>> KINDS = List.of(
            SemaphoreClient.class,
            DistributedSemaphore.class,
            SemaphoreAdmin.class,
            Permit.class,
            PermitGroup.class,
            SemaphoreBackend.class,
            BackendSession.class,
            BackendAdmin.class);

    private Bent() {}

    /** Answers a call wrongly, or has it {@linkplain Call#proceed proceed}. */
    @FunctionalInterface
    interface Bend {
        @Nullable
        Object answer(Call call) throws Throwable;
    }

    static <T> T around(Class<T> type, T target, Bend bend) {
        return type.cast(Proxy.newProxyInstance(
                Bent.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (target instanceof BackendSession && method.getName().equals("start")) {
                        return null; // so that all exchanges come by the method that is bent
                    }
                    Call call = new Call(target, method, arguments == null ? new Object[0] : arguments, bend);
                    return method.getDeclaringClass() == Object.class ? call.proceed() : bend.answer(call);
                }));
    }

    /** A call on its way to the right implementation. */
    static final class Call {
        private final Object target;
        private final Method method;
        private final Object[] arguments;
        private final Bend bend;

        Call(Object target, Method method, Object[] arguments, Bend bend) {
            this.target = target;
            this.method = method;
            this.arguments = arguments;
            this.bend = bend;
        }

        Object target() {
            return target;
        }

        Bend bend() {
            return bend;
        }

        List<Class<?>> parameterTypes() {
            return List.of(method.getParameterTypes());
        }

        /** The arguments with another one at one place. */
        Object[] argumentsWith(int index, Object other) {
            Object[] changed = arguments.clone();
            changed[index] = other;
            return changed;
        }

        boolean is(Class<?> type, String... names) {
            return type.isInstance(target) && Set.of(names).contains(method.getName());
        }

        boolean has(Class<?>... types) {
            return parameterTypes().equals(List.of(types));
        }

        <T> T target(Class<T> type) {
            return type.cast(target);
        }

        <T> T argument(int index, Class<T> type) {
            return type.cast(arguments[index]);
        }

        @Nullable
        Object proceed() throws Throwable {
            return proceedWith(arguments);
        }

        @Nullable
        Object proceedWith(Object... other) throws Throwable {
            try {
                method.setAccessible(true);
                return bent(method.invoke(target, other));
            } catch (InvocationTargetException e) {
                throw e.getCause() == null ? e : e.getCause();
            }
        }

        private @Nullable Object bent(@Nullable Object result) {
            if (result instanceof Optional<?> optional) {
                return optional.map(this::bent);
            }
            if (result instanceof List<?> list && list.stream().anyMatch(Permit.class::isInstance)) {
                return list.stream().map(this::bent).toList();
            }
            for (Class<?> kind : KINDS) {
                if (kind.isInstance(result)) {
                    return bentAs(kind, result);
                }
            }
            return result;
        }

        private <T> T bentAs(Class<T> kind, @Nullable Object result) {
            return around(kind, kind.cast(result), bend);
        }
    }
}
