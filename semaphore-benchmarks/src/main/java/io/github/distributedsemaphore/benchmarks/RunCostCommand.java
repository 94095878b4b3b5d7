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

    /** A backend, with the processor time that a run may take there. */
    private record Candidate(String name, String uri, double mostSeconds, List<Cost> costs) {
        Candidate(String name, String uri, double mostSeconds) {
            this(name, uri, mostSeconds, new ArrayList<>());
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
                    new Candidate("local", "local:" + folder.path().resolve("local"), 0.4),
                    new Candidate("redis", redis.uri(), 0.6),
                    new Candidate("rabbitmq", rabbit.uri(), 0.5),
                    new Candidate("consul", consul.uri(), 0.5)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new BrokenRunException("interrupted", e);
        }
    }

    private void measure(List<Candidate> candidates) throws IOException, InterruptedException {
        Progress progress = new Progress(spec.commandLine().getErr(), live);
        for (Candidate candidate : candidates) {
            progress.show("run", "preparing " + candidate.name());
            timed(candidate, "create", "x", "1");
            for (int i = 0; i < WARM_UPS; i++) {
                timed(candidate, "run", "x", "--", "true");
            }
        }
        for (int round = 0; round < rounds; round++) {
            progress.show("run", "round " + (round + 1) + " of " + rounds);
            for (Candidate candidate : candidates) {
                candidate.costs().add(timed(candidate, "run", "x", "--", "true"));
            }
        }
        progress.clear();
        print(candidates);
    }

    /** Bash knows what its children used; a JVM does not, once they have ended. */
    private Cost timed(Candidate candidate, String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='%U %S %R'; time \"$@\"", "bash"));
        command.addAll(List.of(semaphore.toAbsolutePath().toString(), "--backend", candidate.uri()));
        command.addAll(Arrays.asList(words));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LC_ALL", "C.UTF-8");
        Process process = builder.start();
        boolean done = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        String said = Files.readString(output).strip();
        if (!done || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new BrokenRunException(
                    "'semaphore " + String.join(" ", words) + "' over " + candidate.name() + ": " + said);
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
            boolean reached = processor.median() <= candidate.mostSeconds();
            out.println("| `" + candidate.name() + "` | " + processor + " | at most " + candidate.mostSeconds()
                    + " s | " + (reached ? "reached" : "**not reached**") + " | " + candidate.figure(Cost::elapsed)
                    + " |");
        }
        out.flush();
    }
}
