package io.github.distributedsemaphore.tck.planted;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedMethod;

import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.SemaphoreTck;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/**
 * Runs the tests of one rule of the kit in a JVM whose class path begins with wrong classes. Prints how each of them ended; ends
 * with status 1 if one failed, 0 if all passed, and 2 if none did either.
 */
final class PlantedMain {
    static final String FAILED = "FAILED ";

    private PlantedMain() {}

    /** Takes the test class of the kit, the rule and the seed. */
    public static void main(String[] arguments) throws ClassNotFoundException {
        Class<?> kit = Class.forName(arguments[0]);
        EngineExecutionResults results = EngineTestKit.engine("junit-jupiter")
                .configurationParameter("tck.report", "false")
                .configurationParameter("tck.seed", arguments[2])
                .configurationParameter("junit.jupiter.execution.timeout.default", "90 s")
                .selectors(testsOf(kit, arguments[1]))
                .execute();
        results.testEvents().aborted().stream().forEach(event -> print("ABORTED ", event));
        results.testEvents().failed().stream().forEach(event -> print(FAILED, event));
        results.containerEvents().failed().stream().forEach(event -> print(FAILED, event));
        long failed = results.testEvents().failed().count();
        long passed = results.testEvents().succeeded().count();
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed > 0 ? 1 : passed > 0 ? 0 : 2);
    }

    private static DiscoverySelector[] testsOf(Class<?> kit, String rule) {
        List<DiscoverySelector> tests = new ArrayList<>();
        for (Class<?> section : SemaphoreTck.class.getDeclaredClasses()) {
            for (Method method : section.getSuperclass().getDeclaredMethods()) {
                Rule shown = method.getAnnotation(Rule.class);
                if (shown != null && List.of(shown.value()).contains(rule)) {
                    tests.add(selectNestedMethod(List.of(kit), section, method));
                }
            }
        }
        return tests.toArray(DiscoverySelector[]::new);
    }

    private static void print(String how, Event event) {
        String why = event.getPayload(TestExecutionResult.class)
                .flatMap(TestExecutionResult::getThrowable)
                .map(Throwable::toString)
                .orElse("");
        System.out.println(how + event.getTestDescriptor().getDisplayName() + ": " + why);
    }
}
