package io.github.distributedsemaphore.cli.common;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/**
 * Handles the signals of this process. The JDK's one way is {@code sun.misc.Signal} of the module {@code
 * jdk.unsupported}; called by reflection because javac warns of that class and lets nobody suppress the warning.
 */
public final class Signals {
    private Signals() {}

    /** Puts back what a signal did before. */
    @FunctionalInterface
    public interface Registration extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Has something done whenever a signal comes, in place of what the JVM does. A signal that was ignored when the JVM
     * started, as under {@code nohup}, stays ignored.
     *
     * @param name the signal without SIG, such as {@code TERM}
     * @param action runs on a thread of its own
     * @return ends it; whoever means to handle the signal until the process ends need not
     */
    public static Registration handle(String name, Runnable action) {
        try {
            Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
            Object handler = Proxy.newProxyInstance(
                    Signals.class.getClassLoader(), new Class<?>[] {handlerType}, (self, method, args) -> {
                        action.run();
                        return null;
                    });
            Object before = replace(name, handlerType, handler);
            return () -> restore(name, handlerType, before);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(
                    "this JVM has no sun.misc.Signal: run it with the module jdk.unsupported", e);
        }
    }

    private static void restore(String name, Class<?> handlerType, Object before) {
        Object unused = replace(name, handlerType, before);
    }

    private static Object replace(String name, Class<?> handlerType, Object handler) {
        try {
            Class<?> signalType = Class.forName("sun.misc.Signal");
            return signalType
                    .getMethod("handle", signalType, handlerType)
                    .invoke(null, signalType.getConstructor(String.class).newInstance(name), handler);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException("this JVM leaves SIG" + name + " to nobody else: run it without -Xrs", e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM has another sun.misc.Signal than all so far", e);
        }
    }
}
