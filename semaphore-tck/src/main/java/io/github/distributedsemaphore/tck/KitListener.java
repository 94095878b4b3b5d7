package io.github.distributedsemaphore.tck;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Counts how tests end, and tells. Tests run one after the other; thread-safe all the same. */
final class KitListener implements TestExecutionListener {
    private final Consumer<KitRunner.Ended> progress;
    private final List<KitRunner.Ended> failures = new ArrayList<>();
    private @Nullable TestPlan plan;
    private int known;
    private int ended;
    private int passed;
    private int aborted;

    KitListener(Consumer<KitRunner.Ended> progress) {
        this.progress = progress;
    }

    @Override
    public synchronized void testPlanExecutionStarted(TestPlan started) {
        plan = started;
        known = (int) started.countTestIdentifiers(TestIdentifier::isTest);
    }

    @Override
    public synchronized void dynamicTestRegistered(TestIdentifier test) {
        known += test.isTest() ? 1 : 0;
    }

    /** A class can fail too: what is wrong only at the very end is nobody's test. */
    @Override
    public synchronized void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!test.isTest() && result.getStatus() != Status.FAILED) {
            return;
        }
        ended += test.isTest() ? 1 : 0;
        String outcome = switch (result.getStatus()) {
            case SUCCESSFUL -> "passed";
            case FAILED -> "failed";
            case ABORTED -> "aborted";
        };
        String reason = result.getThrowable()
                .map(thrown -> Optional.ofNullable(thrown.getMessage()).orElse(thrown.toString()))
                .orElse("");
        KitRunner.Ended told = new KitRunner.Ended(
                section(test), test.getDisplayName(), outcome, reason, ended, Math.max(known, ended));
        switch (result.getStatus()) {
            case SUCCESSFUL -> passed++;
            case FAILED -> failures.add(told);
            case ABORTED -> aborted++;
        }
        progress.accept(told);
    }

    /** The class right below the whole kit. */
    private String section(TestIdentifier test) {
        List<String> names = new ArrayList<>(List.of(test.getDisplayName()));
        TestPlan running = Objects.requireNonNull(plan, "a test ends after its plan has started");
        for (Optional<TestIdentifier> above = running.getParent(test);
                above.isPresent();
                above = running.getParent(above.get())) {
            names.add(0, above.get().getDisplayName());
        }
        // The engine and the whole kit come first.
        return names.size() > 2 ? names.get(2) : names.get(0).toLowerCase(Locale.ROOT);
    }

    synchronized KitRunner.Outcome outcome(Path report) {
        return new KitRunner.Outcome(passed, aborted, failures, report);
    }
}
