package io.github.distributedsemaphore.tck.jvms;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import com.google.gson.Gson;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckRun;
import io.github.distributedsemaphore.tck.run.ThreadDump;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * One of the JVMs of a {@link JvmPool}. Its standard input has what it is to do in the first line, and ends when the JVM that started
 * it ends. Its standard output has a line for each test.
 */
public final class KitJvm {
    /** The tests that have ended, by their unique ids. */
    private static final Set<String> ENDED = ConcurrentHashMap.newKeySet();

    /** How this JVM ends where a test does not. */
    private static final int HANGS = 3;

    /** Standard output as it is at first; what tests print goes to standard error. */
    private static final PrintStream OUTCOMES = System.out;

    private KitJvm() {}

    /**
     * What to do.
     *
     * @param tests the unique ids of all tests, of which the JVMs take section after section
     * @param parameters the configuration parameters
     * @param properties the system properties of the JVM that started this one
     */
    record Job(List<String> tests, Map<String, String> parameters, Map<String, String> properties) {
        private static final Gson GSON = new Gson();

        String toLine() {
            return GSON.toJson(this);
        }
    }

    /**
     * Runs the tests.
     *
     * @param arguments none
     * @throws IOException if it is told nothing
     */
    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Job job = Job.GSON.fromJson(in.readLine(), Job.class);
        job.properties().forEach(System.getProperties()::putIfAbsent);
        Runtime.getRuntime().addShutdownHook(new Thread(TckRun::abandonAll, "tck-jvm-tidying"));
        Thread watch = new Thread(() -> endWith(in), "tck-jvm-watch");
        watch.setDaemon(true);
        watch.start();
        run(job);
        System.exit(0);
    }

    private static void endWith(BufferedReader in) {
        try {
            while (in.readLine() != null) {
                // Nothing more is said, but the end.
            }
        } catch (IOException e) {
            // It is the same as the end.
        }
        System.exit(1);
    }

    /**
     * Ends this JVM if a test goes on although its time-out has interrupted it. Such a test waits in a call that an interrupt does not
     * end, say a release, and nothing else would end the run.
     *
     * @param test its unique id
     * @param thread that runs it
     * @param patience how long it may still take
     */
    public static void endUnlessOver(String test, Thread thread, Duration patience) {
        Thread waiting = new Thread(
                () -> {
                    Pause.millis(patience.toMillis());
                    if (!ENDED.contains(test)) {
                        OUTCOMES.println(TestOutcome.hanging(test, patience, ThreadDump.of(thread))
                                .toLine());
                        System.exit(HANGS);
                    }
                },
                "tck-jvm-patience");
        waiting.setDaemon(true);
        waiting.start();
    }

    /** A launcher that knows no listeners but those that it is given. */
    public static Launcher launcher() {
        return LauncherFactory.create(LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .enableLauncherSessionListenerAutoRegistration(false)
                .build());
    }

    private static void run(Job job) {
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
                .selectors(job.tests().stream().map(id -> selectUniqueId(id)).toList())
                .configurationParameters(job.parameters());
        launcher().execute(request.build(), new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                ENDED.add(test.getUniqueId());
                if (test.isTest() || result.getStatus() == TestExecutionResult.Status.FAILED) {
                    OUTCOMES.println(TestOutcome.of(test, result).toLine());
                }
            }
        });
    }
}
