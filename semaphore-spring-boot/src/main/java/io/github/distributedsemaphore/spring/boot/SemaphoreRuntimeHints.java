package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.spi.BackendProvider;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** What an application that is compiled ahead of time finds by name: the backends on its path. */
final class SemaphoreRuntimeHints implements RuntimeHintsRegistrar {
    @Override
    @SuppressWarnings("NullAway") // null is the system's class loader
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.resources().registerPattern("META-INF/services/" + BackendProvider.class.getName());
        ServiceLoader.load(BackendProvider.class, loader).stream()
                .forEach(provider ->
                        hints.reflection().registerType(provider.type(), MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
    }
}
