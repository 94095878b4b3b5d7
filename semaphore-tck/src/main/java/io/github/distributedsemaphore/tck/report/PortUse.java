package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Which methods of the port the tests of rules called. Thread-safe. */
public final class PortUse {
    private static final List<Class<?>> PORT = List.of(
            SemaphoreClient.class,
            DistributedSemaphore.class,
            Holding.class,
            Permit.class,
            PermitGroup.class,
            SemaphoreAdmin.class);

    private final Set<Method> called = ConcurrentHashMap.newKeySet();
    /** Signatures of what tests in another JVM called. */
    private final Set<String> calledElsewhere = ConcurrentHashMap.newKeySet();

    /** Creates it, empty. */
    public PortUse() {}

    /**
     * Notes a call.
     *
     * @param method the method of the port
     * @param rules the rules that the calling test shows
     */
    public void called(Method method, List<String> rules) {
        if (!rules.isEmpty()) {
            called.add(method);
        }
    }

    /** The signatures of what was called. */
    Set<String> called() {
        return called.stream().map(PortUse::signature).collect(Collectors.toCollection(TreeSet::new));
    }

    void addCalled(Set<String> signatures) {
        calledElsewhere.addAll(signatures);
    }

    /**
     * Returns the methods of the port that the test of no rule called.
     *
     * @return their signatures, in order
     */
    public Set<String> untouched() {
        return PORT.stream()
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(method -> Modifier.isPublic(method.getModifiers())
                        && !Modifier.isStatic(method.getModifiers())
                        && !method.isSynthetic())
                .filter(method -> !called.contains(method))
                .map(PortUse::signature)
                .filter(signature -> !calledElsewhere.contains(signature))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    public static String signature(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
