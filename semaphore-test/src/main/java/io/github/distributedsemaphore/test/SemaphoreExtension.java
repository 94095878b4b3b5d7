package io.github.distributedsemaphore.test;

import io.github.distributedsemaphore.SemaphoreClient;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives each test of JUnit Jupiter a backend in memory of its own, as a parameter of type {@link TestSemaphores} or {@link
 * SemaphoreClient}, and closes it afterwards. A test that passes and leaves a permit fails. The constructor may have the parameter too, unless
 * the tests of its class share an instance; {@code @BeforeAll} and {@code @AfterAll} may not.
 *
 * <pre>{@code
 * @ExtendWith(SemaphoreExtension.class)
 * class ExporterTest {
 *     @Test
 *     void exportsOneAtATime(TestSemaphores semaphores) {
 *         // ...
 *     }
 * }
 * }</pre>
 *
 * <p>Registered by class its clock is {@linkplain TestSemaphores#manual manual}; {@code @RegisterExtension} with {@link #realTime}
 * has the other one. Works on Jupiter from 5.12 to 6. Thread-safe, so tests may run concurrently.
 */
public final class SemaphoreExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(SemaphoreExtension.class);

    private final Supplier<TestSemaphores> kind;

    /** Makes an extension with a clock that the test advances, for {@code @ExtendWith}. */
    public SemaphoreExtension() {
        this(TestSemaphores::manual);
    }

    private SemaphoreExtension(Supplier<TestSemaphores> kind) {
        this.kind = kind;
    }

    /**
     * Makes an extension by the time of this machine, for {@code @RegisterExtension}.
     *
     * @return the extension
     */
    public static SemaphoreExtension realTime() {
        return new SemaphoreExtension(TestSemaphores::realTime);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == TestSemaphores.class || type == SemaphoreClient.class;
    }

    /** So that a constructor gets what belongs to the test, and {@link #afterEach} finds it. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException("A backend in memory belongs to one test, so "
                    + parameter.getDeclaringExecutable()
                    + " cannot have it: take it in the test, in @BeforeEach, or in the"
                    + " constructor of a class with an instance for each test");
        }
        ExtensionContext.Store store = context.getStore(NAMESPACE);
        TestSemaphores semaphores = store.get(context.getUniqueId(), TestSemaphores.class);
        if (semaphores == null) {
            semaphores = kind.get();
            store.put(context.getUniqueId(), semaphores);
        }
        return parameter.getParameter().getType() == SemaphoreClient.class ? semaphores.client() : semaphores;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        TestSemaphores semaphores = context.getStore(NAMESPACE).remove(context.getUniqueId(), TestSemaphores.class);
        if (semaphores == null) {
            return;
        }
        try (semaphores) {
            if (context.getExecutionException().isEmpty()) {
                semaphores.assertNothingHeld();
            }
        }
    }
}
