package io.github.distributedsemaphore.tck;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestWatcher;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** Gives each test its fixture, ends it after the test, and notes for each rule how its tests went. */
public final class TckExtension
        implements BeforeEachCallback,
                ParameterResolver,
                TestExecutionExceptionHandler,
                AfterEachCallback,
                TestWatcher {
    private static final Namespace NAMESPACE = Namespace.create(TckExtension.class);

    /** Where the reason is kept for which the run could not start. */
    private static final String BROKEN = "broken";

    /** For JUnit. */
    public TckExtension() {}

    /**
     * Starts the run with its first test. Where the harness cannot connect, that test fails with the reason, and the others are
     * aborted at once.
     */
    @Override
    public void beforeEach(ExtensionContext context) {
        Store store = outermost(context).getStore(NAMESPACE);
        Throwable before = store.get(BROKEN, Throwable.class);
        if (before != null) {
            throw new TestAbortedException("the kit could not start, as the first test says: " + before);
        }
        try {
            run(context);
        } catch (RuntimeException | Error e) {
            store.put(BROKEN, e);
            throw e;
        }
    }

    /** Puts the rules in front of what a failed test says, and after it what is promised and what is to be seen at the backend. */
    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        List<String> rules = rules(context);
        if (failure instanceof TestAbortedException || rules.isEmpty()) {
            throw failure;
        }
        boolean said = failure instanceof AssertionError;
        String what = said ? String.valueOf(failure.getMessage()).strip() : failure.toString();
        AssertionFailedError named = new AssertionFailedError(
                "[" + String.join(", ", rules) + "] " + what + explanation(context, rules),
                said ? failure.getCause() : failure);
        named.setStackTrace(failure.getStackTrace());
        for (Throwable suppressed : failure.getSuppressed()) {
            named.addSuppressed(suppressed);
        }
        throw named;
    }

    private static String explanation(ExtensionContext context, List<String> rules) {
        StringBuilder text = new StringBuilder();
        RuleBook.load().rules().forEach((id, rule) -> {
            if (rules.contains(id)) {
                text.append("\n  promised: ").append(rule.text());
            }
        });
        TckFixture fixture = context.getStore(NAMESPACE).get(TckFixture.class, TckFixture.class);
        return fixture == null
                ? text.toString()
                : text.append(fixture.resources().situation())
                        .append("\n  repeat with: -Dtck.seed=")
                        .append(fixture.run().settings().seed())
                        .toString();
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return context.getTestMethod().isPresent() ? type == TckFixture.class : type == TckRun.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (parameter.getParameter().getType() == TckRun.class) {
            return startedRun(context).orElseThrow(() -> new TestAbortedException("no test of the kit ran"));
        }
        return context.getStore(NAMESPACE).computeIfAbsent(TckFixture.class, key -> fixture(context));
    }

    private static TckFixture fixture(ExtensionContext context) {
        TckRun run = run(context);
        List<String> rules = rules(context);
        return new TckFixture(
                run, rules, run.settings().seed() + context.getUniqueId().hashCode());
    }

    /** The run belongs to the outermost test class, so that all sections share it and it ends with them. */
    static TckRun run(ExtensionContext context) {
        ExtensionContext outermost = outermost(context);
        return outermost
                .getStore(NAMESPACE)
                .computeIfAbsent(
                        TckRun.class,
                        key -> new TckRun(
                                outermost.getRequiredTestClass().getSimpleName(),
                                TckSettings.from(name ->
                                        context.getConfigurationParameter(name).orElse(null)),
                                source(context).harness()),
                        TckRun.class);
    }

    static Optional<TckRun> startedRun(ExtensionContext context) {
        return Optional.ofNullable(outermost(context).getStore(NAMESPACE).get(TckRun.class, TckRun.class));
    }

    private static ExtensionContext outermost(ExtensionContext context) {
        ExtensionContext outermost = context;
        for (Optional<ExtensionContext> next = Optional.of(context);
                next.isPresent();
                next = next.get().getParent()) {
            if (next.get().getTestClass().isPresent()) {
                outermost = next.get();
            }
        }
        return outermost;
    }

    private static HarnessSource source(ExtensionContext context) {
        return context.getRequiredTestInstances().getAllInstances().stream()
                .filter(HarnessSource.class::isInstance)
                .map(HarnessSource.class::cast)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(context.getRequiredTestClass()
                                .getName() + " supplies no harness: extend SemaphoreTck, or implement HarnessSource"));
    }

    static List<String> rules(ExtensionContext context) {
        Optional<Rule> rule = context.getTestMethod().map((Method method) -> method.getAnnotation(Rule.class));
        return rule.map(Rule::value).map(List::of).orElse(List.of());
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        TckFixture fixture = context.getStore(NAMESPACE).get(TckFixture.class, TckFixture.class);
        if (fixture != null) {
            fixture.finish(context.getExecutionException().isPresent());
        }
    }

    @Override
    public void testSuccessful(ExtensionContext context) {
        startedRun(context).ifPresent(run -> run.results().passed(rules(context)));
    }

    @Override
    public void testFailed(ExtensionContext context, @Nullable Throwable cause) {
        startedRun(context).ifPresent(run -> run.results().failed(rules(context), String.valueOf(cause)));
    }

    @Override
    public void testAborted(ExtensionContext context, @Nullable Throwable cause) {
        String reason = cause == null ? "aborted" : String.valueOf(cause.getMessage());
        boolean means = !(cause instanceof HookMissingException);
        startedRun(context).map(TckRun::results).ifPresent(results -> {
            if (means) {
                results.aborted(rules(context), reason);
            } else {
                results.untested(rules(context), reason);
            }
        });
    }
}
