package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.spi.BackendProvider;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** What an application that is compiled ahead of time finds by name: the backends on its path. */
final class SemaphoreRuntimeHints implements RuntimeHintsRegistrar {
    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.resources().registerPattern("META-INF/services/" + BackendProvider.class.getName());
        ConditionalOnBackend.OnBackend.forEachProvider(
                loader,
                provider -> hints.reflection()
                        .registerType(provider.getClass(), MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
    }
}
