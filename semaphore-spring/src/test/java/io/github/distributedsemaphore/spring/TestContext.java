package io.github.distributedsemaphore.spring;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** A Spring context with a client of {@code local:} and the semaphore "exports" of three slots. */
final class TestContext implements AutoCloseable {
    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

    private final AtomicInteger withheld = new AtomicInteger();

    private TestContext() {}

    static TestContext of(Path folder, Class<?>... beans) {
        TestContext made = new TestContext();
        made.context.registerBean(
                SemaphoreClient.class,
                () -> SemaphoreClient.builder("local:" + folder + "?detection=30s")
                        .callbackExecutor(made::callBack)
                        .connect());
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

    private void callBack(Runnable news) {
        if (withheld.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
            news.run();
        }
    }

    /** Aborts the client, and the one listener of the one permit that is held is not told. */
    void abortInSilence() {
        withheld.set(1);
        client().abort();
        await().untilAtomic(withheld, equalTo(0));
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
