package io.github.distributedsemaphore.tck.jvms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Also when the first test of a run is one of a template. */
class PlannedTestsTest {
    static class Example {
        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void template(int number) {
            assertThat(number).isPositive();
        }
    }

    /** What is planned each time that JUnit makes a test of the template. */
    private static final class Asking implements TestExecutionListener {
        private final List<List<String>> answers = new ArrayList<>();
        private TestPlan plan;

        @Override
        public void testPlanExecutionStarted(TestPlan started) {
            plan = started;
        }

        @Override
        public void dynamicTestRegistered(TestIdentifier made) {
            String testClass = made.getUniqueIdObject()
                    .removeLastSegment()
                    .removeLastSegment()
                    .toString();
            answers.add(PlannedTests.below(plan, testClass).stream()
                    .map(test ->
                            UniqueId.parse(test.getUniqueId()).getLastSegment().getType())
                    .toList());
        }
    }

    @Test
    void aTemplateIsOneTestHoweverManyItHasMade() {
        Asking asking = new Asking();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selectClass(Example.class))
                                .build(),
                        asking);
        assertThat(asking.answers).containsExactly(List.of("test-template"), List.of("test-template"));
    }
}
