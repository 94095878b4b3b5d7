package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.SubmissionPublisher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a method returns whose declaration alone does not say it. */
final class ReturnTypeTest {
    @TempDir
    Path folder;

    abstract static class Job<R> {
        @WithPermit(name = "exports", maxWait = "0s", ifFull = WithPermit.IfFull.SKIP)
        public R run() {
            return start();
        }

        abstract R start();
    }

    static class Later extends Job<CompletableFuture<String>> {
        final CompletableFuture<String> work = new CompletableFuture<>();

        // By a method, since the fields of its proxy are empty.
        CompletableFuture<String> work() {
            return work;
        }

        @Override
        CompletableFuture<String> start() {
            return work;
        }
    }

    static class Perhaps extends Job<Optional<String>> {
        @Override
        Optional<String> start() {
            return Optional.of("ran");
        }
    }

    static class Untyped {
        @SuppressWarnings("FutureReturnValueIgnored") // that is the mistake
        @WithPermit("exports")
        Object run() {
            return new CompletableFuture<String>();
        }
    }

    static class ReturnsKotlinFlow {
        @WithPermit("exports")
        kotlinx.coroutines.flow.Flow run() {
            throw new AssertionError("It is not called");
        }
    }

    @Test
    void theFutureOfAGenericMethodHasThePermitUntilItCompletes() {
        try (TestContext context = TestContext.of(folder, Later.class)) {
            CompletableFuture<String> outcome = context.bean(Later.class).run();
            assertThat(outcome).isNotDone();
            assertThat(context.exports().statistics().released()).isZero();
            context.bean(Later.class).work().complete("done");
            assertThat(outcome.join()).isEqualTo("done");
        }
    }

    @Test
    void aGenericMethodThatIsSkippedReturnsAnEmptyOptional() throws Exception {
        try (TestContext context = TestContext.of(folder, Perhaps.class);
                var all = context.exports().acquire(3)) {
            assertThat(all.isValid()).isTrue();
            assertThat(context.bean(Perhaps.class).run()).isEmpty();
        }
    }

    @Test
    void aFutureThatNoTypeAnnouncesFailsTheCall() {
        try (TestContext context = TestContext.of(folder, Untyped.class)) {
            assertThatThrownBy(() -> context.bean(Untyped.class).run())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("returned a java.util.concurrent.CompletableFuture");
        }
    }

    /** By classes of their own, since Spring knows the JDK's publishers only where it finds Reactive Streams. */
    @Test
    void aPublisherOfTheJdkIsSeenAlsoWithoutReactiveStreams() throws Exception {
        List<URL> path = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!entry.contains("reactor") && !entry.contains("reactive-streams")) {
                path.add(Path.of(entry).toUri().toURL());
            }
        }
        try (URLClassLoader loader =
                new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            assertThatThrownBy(() -> loader.loadClass("org.reactivestreams.Publisher"))
                    .isInstanceOf(ClassNotFoundException.class);
            Method isLater = loader.loadClass(PermitMethod.class.getName()).getDeclaredMethod("isLater", Class.class);
            isLater.setAccessible(true);
            assertThat(isLater.invoke(null, SubmissionPublisher.class)).isEqualTo(true);
            assertThat(isLater.invoke(null, String.class)).isEqualTo(false);
        }
    }

    @Test
    void aFlowOfKotlinIsRefused() {
        assertThatThrownBy(() -> TestContext.of(folder, ReturnsKotlinFlow.class).close())
                .hasStackTraceContaining("returns a kotlinx.coroutines.flow.Flow");
    }
}
