package io.github.distributedsemaphore.tck;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Disabled;

/**
 * Which sections the kit has, and whether an adapter runs all of them. A test class that extends {@link SemaphoreTck} does
 * so by itself; this is for adapters that spread the sections over several test classes.
 */
public final class KitSections {
    private KitSections() {}

    /**
     * Returns the sections.
     *
     * @return the abstract class of each
     */
    public static List<Class<?>> all() {
        return RuleCoverage.sections();
    }

    /**
     * Shows that test classes together run every section, and that none of them is disabled.
     *
     * @param tests the test classes of an adapter
     * @throws AssertionError naming what is missing or disabled
     */
    public static void assertAllIn(Class<?>... tests) {
        List<String> gaps = new ArrayList<>();
        for (Class<?> section : all()) {
            if (Arrays.stream(tests).noneMatch(test -> runs(test, section))) {
                gaps.add(section.getSimpleName() + " is not run");
            }
        }
        for (Class<?> test : tests) {
            if (test.isAnnotationPresent(Disabled.class)) {
                gaps.add(test.getSimpleName() + " is disabled");
            }
        }
        if (!gaps.isEmpty()) {
            throw new AssertionError("the kit is not run as a whole: " + String.join(", ", gaps));
        }
    }

    private static boolean runs(Class<?> test, Class<?> section) {
        return section.isAssignableFrom(test) || SemaphoreTck.class.isAssignableFrom(test);
    }
}
