package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.spi.BackendProvider;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if a module for a scheme of backend URIs is on the path. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Conditional(ConditionalOnBackend.OnBackend.class)
public @interface ConditionalOnBackend {
    /**
     * The scheme.
     *
     * @return such as {@code redis}
     */
    String value();

    /** The condition. */
    final class OnBackend extends SpringBootCondition {
        private static final Logger LOG = LoggerFactory.getLogger(ConditionalOnBackend.class);

        /** A path that cannot be read at all fails again and again. */
        private static final int MOST_BROKEN = 100;

        /** Creates it. */
        public OnBackend() {}

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Map<String, Object> attributes = metadata.getAnnotationAttributes(ConditionalOnBackend.class.getName());
            String scheme = attributes == null ? "" : String.valueOf(attributes.get("value"));
            ConditionMessage.Builder message = ConditionMessage.forCondition(ConditionalOnBackend.class, scheme);
            return isServed(scheme, context.getClassLoader())
                    ? ConditionOutcome.match(message.because("a module serves it"))
                    : ConditionOutcome.noMatch(message.because("no module serves it"));
        }

        private static boolean isServed(String scheme, @Nullable ClassLoader loader) {
            Set<String> schemes = new HashSet<>();
            forEachProvider(loader, provider -> schemes.addAll(provider.schemes()));
            return schemes.contains(scheme);
        }

        /** A broken provider hides no other one, as in the search for the backend itself. */
        @SuppressWarnings("NullAway") // null is the system's class loader
        static void forEachProvider(@Nullable ClassLoader loader, Consumer<BackendProvider> action) {
            Iterator<BackendProvider> providers =
                    ServiceLoader.load(BackendProvider.class, loader).iterator();
            for (int broken = 0; broken < MOST_BROKEN; broken++) {
                try {
                    providers.forEachRemaining(action);
                    return;
                } catch (ServiceConfigurationError | LinkageError | RuntimeException e) {
                    LOG.debug("A provider of a backend cannot be loaded", e);
                }
            }
        }
    }
}
