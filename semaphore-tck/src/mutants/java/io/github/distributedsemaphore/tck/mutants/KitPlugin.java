package io.github.distributedsemaphore.tck.mutants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;
import static org.junit.platform.launcher.TagFilter.excludeTags;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.pitest.classinfo.ClassByteArraySource;
import org.pitest.help.PitHelpError;
import org.pitest.testapi.AbstractTestUnit;
import org.pitest.testapi.Configuration;
import org.pitest.testapi.Description;
import org.pitest.testapi.ResultCollector;
import org.pitest.testapi.TestGroupConfig;
import org.pitest.testapi.TestPluginFactory;
import org.pitest.testapi.TestSuiteFinder;
import org.pitest.testapi.TestUnit;
import org.pitest.testapi.TestUnitExecutionListener;
import org.pitest.testapi.TestUnitFinder;

/**
 * Runs each test of a kit as one test of PIT. PIT's own plugin for JUnit 5 does not do: to list the tests it executes all of them,
 * in each JVM that it starts, and it takes a kit of which only a part runs for one that fails.
 */
public final class KitPlugin implements TestPluginFactory {
    private static final String SEED = "1";

    /** For PIT. */
    public KitPlugin() {}

    @Override
    public String name() {
        return "semaphore-tck";
    }

    @Override
    public String description() {
        return "The tests of the compatibility kit";
    }

    @Override
    public Configuration createTestFrameworkConfiguration(
            TestGroupConfig groups,
            ClassByteArraySource classes,
            Collection<String> excludedRunners,
            Collection<String> includedMethods) {
        return new KitConfiguration(groups.getExcludedGroups());
    }

    private static LauncherDiscoveryRequestBuilder request() {
        return LauncherDiscoveryRequestBuilder.request()
                .configurationParameter("tck.report", "false")
                .configurationParameter("tck.seed", SEED);
    }

    private record KitConfiguration(List<String> excludedTags) implements Configuration {
        @Override
        public TestUnitFinder testUnitFinder() {
            return this::find;
        }

        private List<TestUnit> find(Class<?> test, TestUnitExecutionListener listener) {
            if (!SemaphoreTck.class.isAssignableFrom(test)) {
                return List.of();
            }
            LauncherDiscoveryRequestBuilder request = request().selectors(selectClass(test));
            if (!excludedTags.isEmpty()) {
                request.filters(excludeTags(excludedTags));
            }
            TestPlan plan = LauncherFactory.create().discover(request.build());
            return plan.getRoots().stream()
                    .flatMap(root -> plan.getDescendants(root).stream())
                    .filter(identifier -> isUnit(plan, identifier))
                    .<TestUnit>map(identifier -> new KitTest(test, identifier.getUniqueId()))
                    .toList();
        }

        /** A template has no tests before it runs. */
        private static boolean isUnit(TestPlan plan, TestIdentifier identifier) {
            return identifier.isTest()
                    || (plan.getChildren(identifier).isEmpty()
                            && identifier.getUniqueId().contains("[test-template:"));
        }

        @Override
        public TestSuiteFinder testSuiteFinder() {
            return test -> List.of();
        }

        @Override
        public Optional<PitHelpError> verifyEnvironment() {
            return Optional.empty();
        }
    }

    private static final class KitTest extends AbstractTestUnit {
        private final String id;

        KitTest(Class<?> test, String id) {
            super(new Description(id, test));
            this.id = id;
        }

        @Override
        public void execute(ResultCollector results) {
            results.notifyStart(getDescription());
            Failure failure = new Failure();
            LauncherDiscoveryRequest request =
                    request().selectors(selectUniqueId(id)).build();
            LauncherFactory.create().execute(request, failure);
            if (failure.first == null) {
                results.notifyEnd(getDescription());
            } else {
                results.notifyEnd(getDescription(), failure.first);
            }
        }
    }

    /** The first failure, of a test or of what the kit looks at when it ends. What is aborted has not failed. */
    private static final class Failure implements TestExecutionListener {
        private @Nullable Throwable first;

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (first == null && result.getStatus() == TestExecutionResult.Status.FAILED) {
                first = result.getThrowable().orElseGet(() -> new AssertionError(test.getDisplayName()));
            }
        }
    }
}
