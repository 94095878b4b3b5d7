package io.github.distributedsemaphore.tck.mutants;

import java.util.Locale;
import java.util.Properties;
import org.pitest.mutationtest.ClassMutationResults;
import org.pitest.mutationtest.ListenerArguments;
import org.pitest.mutationtest.MutationResult;
import org.pitest.mutationtest.MutationResultListener;
import org.pitest.mutationtest.MutationResultListenerFactory;
import org.pitest.mutationtest.engine.MutationDetails;

/** Prints a line for each mutant as soon as its fate is known: a run takes hours. */
public final class LineReport implements MutationResultListenerFactory {
    /** For PIT. */
    public LineReport() {}

    @Override
    public String name() {
        return "LINES";
    }

    @Override
    public String description() {
        return "A line for each mutant";
    }

    @Override
    public MutationResultListener getListener(Properties properties, ListenerArguments arguments) {
        return new MutationResultListener() {
            @Override
            public void runStart() {}

            @Override
            public void handleMutationResult(ClassMutationResults results) {
                results.getMutations().forEach(LineReport::print);
            }

            @Override
            public void runEnd() {}
        };
    }

    private static void print(MutationResult result) {
        MutationDetails details = result.getDetails();
        String simpleName = details.getClassName().getNameWithoutPackage().asJavaName();
        System.out.printf(
                Locale.ROOT,
                "MUTANT %-12s %s.%s:%d %s%n",
                result.getStatus(),
                simpleName,
                details.getMethod(),
                details.getLineNumber(),
                details.getDescription());
    }
}
