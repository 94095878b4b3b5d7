package io.github.distributedsemaphore.spring;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import java.nio.file.Path;
import java.util.Map;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** A Spring context with a client of {@code local:} and the semaphore "exports" of three slots. */
final class TestContext implements AutoCloseable {
    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

    private TestContext() {}

    static TestContext of(Path folder, Class<?>... beans) {
        TestContext made = new TestContext();
        made.context.registerBean(
                SemaphoreClient.class, () -> SemaphoreClient.connect("local:" + folder + "?detection=30s"));
        made.context
                .getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("test", Map.of("exports.name", "exports", "exports.wait", "20ms")));
        made.context.register(WithPermitConfiguration.class);
        made.context.register(beans);
        try {
            made.context.refresh();
            made.client().admin().create("exports", 3);
            return made;
        } catch (RuntimeException e) {
            made.close();
            throw e;
        }
    }

    <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    SemaphoreClient client() {
        return bean(SemaphoreClient.class);
    }

    DistributedSemaphore exports() {
        return client().semaphore("exports");
    }

    @Override
    public void close() {
        context.close();
    }
}
