package io.github.distributedsemaphore.tck.rulebook;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.DisplayNameGenerator;

/** Names tests so that a report reads {@code 2.2 a crashed holder's permit returns within bounds}. */
public class RuleNames extends DisplayNameGenerator.Standard {
    /** For JUnit. */
    public RuleNames() {}

    @Override
    public String generateDisplayNameForMethod(List<Class<?>> enclosing, Class<?> type, Method method) {
        Rule rule = method.getAnnotation(Rule.class);
        String sentence = method.getName()
                .replaceAll("([a-z0-9])([A-Z])", "$1 $2")
                .replaceAll("([A-Z])([A-Z][a-z])", "$1 $2")
                .toLowerCase(Locale.ROOT);
        return rule == null ? sentence : String.join(" ", rule.value()) + " " + sentence;
    }
}
