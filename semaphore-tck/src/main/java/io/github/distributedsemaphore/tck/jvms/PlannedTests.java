package io.github.distributedsemaphore.tck.jvms;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Knows which tests JUnit is about to run, which an extension cannot ask. JUnit finds it as a service. Thread-safe. */
public final class PlannedTests implements TestExecutionListener {
    private static final Set<TestPlan> RUNNING = ConcurrentHashMap.newKeySet();

    /** For JUnit. */
    public PlannedTests() {}

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        RUNNING.add(plan);
    }

    @Override
    public void testPlanExecutionFinished(TestPlan plan) {
        RUNNING.remove(plan);
    }

    /** The plan that a test class is part of; empty if it is run by an engine without the launcher, or by more than one plan. */
    static List<TestPlan> with(String testClass) {
        return RUNNING.stream()
                .filter(plan ->
                        plan.countTestIdentifiers(test -> test.getUniqueId().equals(testClass)) == 1)
                .toList();
    }

    /** The tests, and the templates of tests, of a test class. What a template has made already is part of the template. */
    static List<TestIdentifier> below(TestPlan plan, String testClass) {
        return plan.getDescendants(plan.getTestIdentifier(UniqueId.parse(testClass))).stream()
                .filter(PlannedTests::isMethod)
                .filter(test ->
                        plan.getParent(test).filter(PlannedTests::isMethod).isEmpty())
                .toList();
    }

    /** How many tests are planned of a test class; 0 if that is not known. */
    public static int number(String testClass) {
        return with(testClass).stream()
                .mapToInt(plan -> below(plan, testClass).size())
                .sum();
    }

    private static boolean isMethod(TestIdentifier test) {
        return test.getSource().filter(MethodSource.class::isInstance).isPresent();
    }
}
