package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;

/** Stands before a backend and lets through only what somebody may do. */
final class RefusingBackend {
    /** What ends or describes, which everybody may. */
    private static final Set<String> HARMLESS = Set.of(
            "guarantees",
            "close",
            "abort",
            "renewEvery",
            "handOffTime",
            "servesInOrder",
            "open",
            "admin",
            "equals",
            "hashCode",
            "toString");

    private RefusingBackend() {}

    static SemaphoreBackend around(SemaphoreBackend backend, String reason, Set<String> allowed) {
        return proxy(SemaphoreBackend.class, backend, reason, allowed);
    }

    private static <T> T proxy(Class<T> type, Object target, String reason, Set<String> allowed) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            if (target instanceof BackendSession && method.getName().equals("start")) {
                return null; // the exchange that follows is refused
            }
            if (!HARMLESS.contains(method.getName()) && !allowed.contains(method.getName())) {
                throw new BackendAccessException(reason, null);
            }
            Object result = call(target, method, args);
            if (result instanceof BackendSession session) {
                return proxy(BackendSession.class, session, reason, allowed);
            }
            return result instanceof BackendAdmin admin ? proxy(BackendAdmin.class, admin, reason, allowed) : result;
        }));
    }

    private static Object call(Object target, Method method, Object[] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
