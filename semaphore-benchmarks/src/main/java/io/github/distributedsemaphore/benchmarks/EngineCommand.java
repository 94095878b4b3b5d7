package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.engine.EngineBenchmark;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.NoBenchmarksException;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Measures the engine alone. */
@Command(
        name = "engine",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measures the engine alone with JMH, over a backend in memory: pairs of acquire and release in a"
                + " microsecond, and the bytes that a pair allocates (gc.alloc.rate.norm).")
final class EngineCommand implements Runnable {
    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "PATTERN",
            description = "a regular expression for the names of benchmarks; default: all")
    private @Nullable String pattern;

    @Option(names = "--quick", description = "one short round each: shows that everything works")
    private boolean quick;

    @Option(
            names = "--results",
            paramLabel = "DIR",
            defaultValue = "${sys:bench.results:-target/results}",
            description = "where the JSON goes; default: ${DEFAULT-VALUE}")
    private Path results = Path.of("target/results");

    @Override
    public void run() {
        Path file = results.resolve("engine.json");
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include(include())
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .resultFormat(ResultFormatType.JSON)
                .result(file.toString());
        if (quick) {
            options.forks(1)
                    .warmupIterations(1)
                    .measurementIterations(1)
                    .warmupTime(TimeValue.milliseconds(200))
                    .measurementTime(TimeValue.milliseconds(200));
        }
        try {
            Files.createDirectories(results);
            new Runner(options.build()).run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (NoBenchmarksException e) {
            throw wrong("no benchmark's name matches '" + pattern + "'", e);
        } catch (RunnerException e) {
            throw new BrokenRunException("JMH did not come to an end", e);
        }
        System.err.println("bench: every iteration is in " + file);
    }

    private String include() {
        String include = EngineBenchmark.class.getSimpleName() + "." + (pattern == null ? "" : pattern);
        try {
            return Pattern.compile(include).pattern();
        } catch (PatternSyntaxException e) {
            throw wrong("'" + include + "' is no regular expression: " + e.getDescription(), e);
        }
    }

    private CommandLine.ParameterException wrong(String message, Exception cause) {
        return new CommandLine.ParameterException(spec.commandLine(), message, cause);
    }
}
