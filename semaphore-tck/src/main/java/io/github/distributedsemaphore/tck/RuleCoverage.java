package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.rulebook.RuleBook;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Nested;

/** Compares the tests of the sections with the rule book. */
final class RuleCoverage {
    private RuleCoverage() {}

    /** The section classes, as the kit nests them. */
    static List<Class<?>> sections() {
        List<Class<?>> sections = new ArrayList<>();
        for (Class<?> nested : SemaphoreTck.class.getDeclaredClasses()) {
            if (nested.isAnnotationPresent(Nested.class)) {
                sections.add(nested.getSuperclass());
            }
        }
        return sections;
    }

    /** Says what does not fit together, a sentence each. */
    static List<String> gaps(RuleBook book, List<Class<?>> sections) {
        List<String> gaps = new ArrayList<>();
        Map<String, Set<String>> testsByRule = new TreeMap<>();
        for (Class<?> section : sections) {
            for (Method method : section.getDeclaredMethods()) {
                collect(method, testsByRule, gaps);
            }
        }
        testsByRule.keySet().stream()
                .filter(rule -> !book.rules().containsKey(rule))
                .forEach(rule -> gaps.add("rule " + rule + " is not in the book: " + testsByRule.get(rule)));
        for (RuleBook.Entry rule : book.rules().values()) {
            boolean tested = testsByRule.containsKey(rule.id());
            if (tested == rule.untested().isPresent()) {
                gaps.add("rule " + rule.id() + (tested ? " has a test and a" : " has no test and no")
                        + " reason not to");
            }
        }
        return gaps;
    }

    private static void collect(Method method, Map<String, Set<String>> testsByRule, List<String> gaps) {
        Rule rule = method.getAnnotation(Rule.class);
        String name = method.getDeclaringClass().getSimpleName() + "." + method.getName();
        boolean test = Arrays.stream(method.getAnnotations())
                .anyMatch(annotation -> annotation.annotationType().getName().startsWith("org.junit.jupiter"));
        if (test && rule == null) {
            gaps.add("test " + name + " names no rule");
        } else if (rule != null && !test) {
            gaps.add("method " + name + " names a rule and is no test");
        } else if (rule != null) {
            for (String id : rule.value()) {
                testsByRule.computeIfAbsent(id, key -> new TreeSet<>()).add(name);
            }
        }
    }
}
