package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The library loaded twice in one process, as by two applications of one server. The operating system knows only the
 * process, and drops all its locks on a file when either copy closes that file.
 */
class ClassLoadersTest {
    @TempDir
    Path directory;

    /** Called in the other class loader: takes as many as it can, one by one, and gives them back when told to. */
    public static final class Copy implements AutoCloseable {
        private final SemaphoreBackend backend;
        private final BackendSession session;

        public Copy(String directory) {
            backend = Local.open(Path.of(directory));
            session = session(backend, "jobs");
        }

        public String takeAll() {
            List<Integer> slots = new ArrayList<>();
            while (take(session, 1) instanceof Answer.Granted granted) {
                granted.holds().stream().map(Hold::slot).forEach(slots::add);
            }
            return slots + " of "
                    + backend.admin().describe("jobs").orElseThrow().limit();
        }

        @Override
        public void close() {
            session.close();
            backend.close();
        }
    }

    /** Of one of the class loaders: opens a file and locks a byte of it; what it returns closes the file. */
    public static final class Opener implements BiFunction<Path, Long, Runnable> {
        @Override
        public Runnable apply(Path file, Long at) {
            try {
                LockFile opened = LockFile.open(file);
                assertThat(opened.tryLock(at, 1)).isNotNull();
                return opened::close;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static URLClassLoader anotherLoader() throws Exception {
        List<URL> path = new ArrayList<>();
        String all = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        for (String entry : all.split(File.pathSeparator)) {
            path.add(new File(entry).toURI().toURL());
        }
        return new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    private AutoCloseable open(Class<?> copy) throws Exception {
        return (AutoCloseable) copy.getConstructor(String.class).newInstance(directory.toString());
    }

    @Test
    void closingOneCopyDropsNoLockOfTheOther() throws Exception {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = session(backend, "jobs");
                URLClassLoader loader = anotherLoader()) {
            backend.admin().create("jobs", 4);
            List<Hold> ours = takeHolds(session, 2);
            Class<?> type = loader.loadClass(Copy.class.getName());
            try (AutoCloseable copy = open(type)) {
                assertThat(type.getMethod("takeAll").invoke(copy)).isEqualTo("[3, 4] of 4");
                assertThat(backend.admin().describe("jobs").orElseThrow().holders())
                        .extracting(Holder::pid)
                        .containsOnly(ProcessHandle.current().pid());
            }
            try (Child child = Child.start("count", directory, "jobs")) {
                assertThat(child.await("FREE")).isEqualTo("2");
                child.finish();
            }
            assertThat(session.renew(ours).lost()).isEmpty();
        }
        assertThat(LockFile.openFiles()).isZero();
    }

    @Test
    void makingAFileDropsNoLockThatTheOtherCopyTakesAtThatMoment() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try (URLClassLoader loader = anotherLoader()) {
            BiFunction<Path, Long, Runnable> other = openerOf(loader);
            for (int i = 0; i < 2_000; i++) {
                Path file = directory.resolve("file" + i);
                CyclicBarrier together = new CyclicBarrier(2);
                Future<Runnable> theirs = threads.submit(() -> {
                    together.await();
                    return other.apply(file, 0L);
                });
                // To the operating system two bytes side by side would be one lock.
                Future<Runnable> ours = threads.submit(() -> {
                    together.await();
                    return new Opener().apply(file, 2L);
                });
                List<Runnable> closing = List.of(theirs.get(), ours.get());
                assertThat(ProcessTest.ownLocks(file)).isEqualTo(2);
                closing.forEach(Runnable::run);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(LockFile.openFiles()).isZero();
    }

    @SuppressWarnings("unchecked") // It is the class above.
    private static BiFunction<Path, Long, Runnable> openerOf(ClassLoader loader) throws Exception {
        Class<?> type = loader.loadClass(Opener.class.getName());
        assertThat(type).isNotEqualTo(Opener.class);
        return (BiFunction<Path, Long, Runnable>) type.getConstructor().newInstance();
    }

    @Test
    void twoCopiesInOneProcessNeitherShareASlotNorDropEachOthersLocks() throws Exception {
        try (SemaphoreBackend backend = Local.open(directory);
                BackendSession session = session(backend, "jobs");
                URLClassLoader loader = anotherLoader()) {
            backend.admin().create("jobs", 4);
            List<Hold> ours = takeHolds(session, 2);
            Class<?> type = loader.loadClass(Copy.class.getName());
            assertThat(type).isNotEqualTo(Copy.class);
            Method takeAll = type.getMethod("takeAll");
            try (AutoCloseable copy = open(type)) {
                assertThat(takeAll.invoke(copy)).isEqualTo("[3, 4] of 4");
                assertThat(take(session, 1)).isEqualTo(Answer.FULL);
                assertThat(backend.admin().describe("jobs").orElseThrow().holders())
                        .hasSize(4);
                assertThat(take(session, 1)).isEqualTo(Answer.FULL);

                // What is locked is seen from outside only.
                try (Child child = Child.start("count", directory, "jobs")) {
                    assertThat(child.await("FREE")).isEqualTo("0");
                    child.finish();
                }
                Local.giveBack(session, ours.toArray(Hold[]::new));
                assertThat(takeAll.invoke(copy)).isEqualTo("[1, 2] of 4");
            }
            try (BackendSession again = session(backend, "jobs")) {
                assertThat(takeHolds(again, 4)).hasSize(4);
            }
        }
    }
}
