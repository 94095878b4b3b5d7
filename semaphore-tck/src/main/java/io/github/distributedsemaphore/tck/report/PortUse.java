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
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Which methods of the port the tests of which rules called. Thread-safe. */
public final class PortUse {
    private static final List<Class<?>> PORT = List.of(
            SemaphoreClient.class,
            DistributedSemaphore.class,
            Holding.class,
            Permit.class,
            PermitGroup.class,
            SemaphoreAdmin.class);

    private final Map<Method, Set<String>> rulesByMethod = new ConcurrentHashMap<>();

    /** Creates it, empty. */
    public PortUse() {}

    /**
     * Notes a call.
     *
     * @param method the method of the port
     * @param rules the rules that the calling test shows
     */
    public void called(Method method, List<String> rules) {
        Set<String> known = rulesByMethod.computeIfAbsent(method, key -> ConcurrentHashMap.newKeySet());
        if (!known.containsAll(rules)) {
            known.addAll(rules);
        }
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
                .filter(method -> rulesByMethod.getOrDefault(method, Set.of()).isEmpty())
                .map(PortUse::signature)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    static String signature(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
