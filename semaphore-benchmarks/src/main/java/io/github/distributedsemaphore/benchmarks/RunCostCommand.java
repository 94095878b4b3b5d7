package io.github.distributedsemaphore.benchmarks;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Series;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import io.github.distributedsemaphore.benchmarks.servers.ConsulServers;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.RabbitProcess;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import io.github.distributedsemaphore.benchmarks.servers.TemporaryFolder;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures what a short job under {@code semaphore run} pays for its permit. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures the processor time of 'semaphore run x -- true' over each backend, against servers that it starts and ends"
                    + " itself. The backends have their turns in each of several rounds. Two runs over each come before:"
                    + " the first one makes the archive of classes that the others use."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:measured, whether the targets were reached or not",
            "1:the run was broken",
            "2:called wrongly"
        })
final class RunCostCommand implements Runnable {
    private static final int WARM_UPS = 2;
    private static final long PATIENCE_SECONDS = 60;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(names = "--rounds", defaultValue = "11", description = "how many rounds count; default: ${DEFAULT-VALUE}")
    private int rounds;

    @Option(
            names = "--command",
            paramLabel = "FILE",
            defaultValue = "bin/semaphore",
            description = "the command; default: ${DEFAULT-VALUE}")
    private Path semaphore = Path.of("bin/semaphore");

    @Option(names = "--live", hidden = true, description = "overwrite the line of progress")
    private boolean live;

    private Path output = Path.of("output");

    /**
     * What is run again and again.
     *
     * @param name for the report
     * @param command the words
     * @param mostSeconds the processor time that it may take; infinite for what is only compared with
     * @param costs what it took
     */
    private record Candidate(String name, List<String> command, double mostSeconds, List<Cost> costs) {
        Candidate(String name, List<String> command, double mostSeconds) {
            this(name, command, mostSeconds, new ArrayList<>());
        }

        Series figure(ToDoubleFunction<Cost> figure) {
            return new Series(costs.stream().mapToDouble(figure).boxed().collect(Collectors.toList()));
        }
    }

    /** What one run took, in seconds. */
    private record Cost(double processor, double elapsed) {}

    @Override
    public void run() {
        if (rounds < 1 || rounds > 1_000) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--rounds is " + rounds + "; it must be from 1 to 1000");
        }
        if (!Files.isExecutable(semaphore)) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(), "--command is " + semaphore + "; there is no such program");
        }
        try (TemporaryFolder folder = TemporaryFolder.create("run");
                MeasuredServer redis = new RedisProcess(folder.path());
                MeasuredServer rabbit = new RabbitProcess(folder.path());
                MeasuredServer consul = new ConsulServers(folder.path(), 1)) {
            output = folder.path().resolve("output");
            measure(List.of(
                    bareJvm(),
                    candidate("local", "local:" + folder.path().resolve("local"), 0.4),
                    candidate("redis", redis.uri(), 0.6),
                    candidate("rabbitmq", rabbit.uri(), 0.5),
                    candidate("consul", consul.uri(), 0.5)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new BrokenRunException("interrupted", e);
        }
    }

    /** The least that a program in Java takes on this machine. */
    private static Candidate bareJvm() {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = List.of(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-version");
        return new Candidate("java -version", command, Double.POSITIVE_INFINITY);
    }

    private Candidate candidate(String name, String uri, double mostSeconds) throws IOException, InterruptedException {
        List<String> start = List.of(semaphore.toAbsolutePath().toString(), "--backend", uri);
        timed(name, plus(start, "create", "x", "1"));
        return new Candidate(name, plus(start, "run", "x", "--", "true"), mostSeconds);
    }

    private static List<String> plus(List<String> words, String... more) {
        List<String> all = new ArrayList<>(words);
        all.addAll(Arrays.asList(more));
        return all;
    }

    private void measure(List<Candidate> candidates) throws IOException, InterruptedException {
        Progress progress = new Progress(spec.commandLine().getErr(), live);
        for (Candidate candidate : candidates) {
            progress.show("run", "preparing " + candidate.name());
            for (int i = 0; i < WARM_UPS; i++) {
                timed(candidate.name(), candidate.command());
            }
        }
        for (int round = 0; round < rounds; round++) {
            progress.show("run", "round " + (round + 1) + " of " + rounds);
            for (Candidate candidate : candidates) {
                candidate.costs().add(timed(candidate.name(), candidate.command()));
            }
        }
        progress.clear();
        print(candidates);
    }

    /** Bash knows what its children used; a JVM does not, once they have ended. */
    private Cost timed(String name, List<String> words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='%U %S %R'; time \"$@\"", "bash"));
        command.addAll(words);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LC_ALL", "C.UTF-8");
        Process process = builder.start();
        boolean done;
        try {
            done = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } finally {
            // The shell's children would go on without it.
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        String said = Files.readString(output).strip();
        if (!done || process.exitValue() != 0) {
            throw new BrokenRunException("'" + String.join(" ", words) + "' (" + name + "): " + said);
        }
        double[] seconds = Stream.of(said.substring(said.lastIndexOf('\n') + 1).split(" "))
                .mapToDouble(Double::parseDouble)
                .toArray();
        return new Cost(seconds[0] + seconds[1], seconds[2]);
    }

    private void print(List<Candidate> candidates) {
        PrintWriter out = spec.commandLine().getOut();
        out.println("| `semaphore run x -- true` | processor s (min..max) | target | | elapsed s (min..max) |");
        out.println("| --- | --- | --- | --- | --- |");
        for (Candidate candidate : candidates) {
            Series processor = candidate.figure(Cost::processor);
            String target = Double.isInfinite(candidate.mostSeconds())
                    ? " | "
                    : "at most " + candidate.mostSeconds() + " s | "
                            + (processor.median() <= candidate.mostSeconds() ? "reached" : "**not reached**");
            out.println("| `" + candidate.name() + "` | " + processor + " | " + target + " | "
                    + candidate.figure(Cost::elapsed) + " |");
        }
        out.flush();
    }
}
