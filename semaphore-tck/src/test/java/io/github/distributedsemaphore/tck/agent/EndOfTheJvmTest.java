package io.github.distributedsemaphore.tck.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A run that is told to end in the middle of a test leaves no process behind, also none that stands still. */
class EndOfTheJvmTest {
    /** The run: it prints the folder of a server and the processes that it has, and waits to be ended. */
    static final class Run {
        private Run() {}

        public static void main(String[] arguments) throws InterruptedException {
            ProcessServer server = new ProcessServer("sleeper");
            server.start(List.of("sleep", "1000"), () -> true);
            AgentProcess agent = new AgentProcess(AgentLauncher.sameClassPath("none:"));
            new Agent(agent).checkClock();
            Signals.stop(agent.pid());
            System.out.println(server.folder());
            System.out.println(server.process().pid());
            System.out.println(agent.pid());
            Thread.currentThread().join();
        }
    }

    @Test
    void endsServersAndAgents() throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(), Run.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put("CLASSPATH", AgentLauncher.sameClassPath("").classPath());
        Process run = builder.start();
        try (BufferedReader out = run.inputReader()) {
            Path folder = Path.of(out.readLine());
            ProcessHandle server =
                    ProcessHandle.of(Long.parseLong(out.readLine())).orElseThrow();
            ProcessHandle agent =
                    ProcessHandle.of(Long.parseLong(out.readLine())).orElseThrow();
            run.destroy();
            assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(server.onExit()).succeedsWithin(30, TimeUnit.SECONDS);
            assertThat(agent.onExit()).succeedsWithin(30, TimeUnit.SECONDS);
            assertThat(folder).doesNotExist();
        } finally {
            run.destroyForcibly();
        }
    }
}
