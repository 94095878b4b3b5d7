package io.github.distributedsemaphore.redis.worklock;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * Workers that are threads of another process, and die with it. It reads "KEY hire MAX_ATTEMPTS" and "KEY WORD", and writes
 * "KEY LINE".
 */
final class ForkedCrew implements Crew {
    private final Process process;

    private ForkedCrew(List<String> command, Told told) {
        try {
            this.process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread reader = new Thread(() -> read(told), "lines of a crew");
        reader.setDaemon(true);
        reader.start();
    }

    /** Workers in Java. */
    static ForkedCrew ofJava(int port, Told told) {
        return new ForkedCrew(
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Child.class.getName(),
                        Integer.toString(port)),
                told);
    }

    /** Workers of the other kind, whose time passes when they are told so. */
    static ForkedCrew ofForeigners(int port, Told told) {
        return ofForeigners(port, SteeredWorker.LOCK_TIMEOUT.toMillis(), "steered", told);
    }

    static ForkedCrew ofForeigners(int port, long lockTimeoutMillis, String mode, Told told) {
        return new ForkedCrew(
                List.of(
                        "python3",
                        "-I",
                        "-S",
                        Program.FILE.toString(),
                        Integer.toString(port),
                        Long.toString(lockTimeoutMillis),
                        mode),
                told);
    }

    /** Skips the test on a machine that cannot run the other kind, and says why. */
    static void assumeForeigners() {
        try {
            kill(new ProcessBuilder("python3", "-c", "").start());
        } catch (IOException e) {
            Assumptions.abort("python3 is not on the PATH, so there is no worker of the other kind: " + e.getMessage());
        }
    }

    private static final class Program {
        static final Path FILE = copied();

        private static Path copied() {
            try (InputStream in = ForkedCrew.class.getResourceAsStream("/foreign_worker.py")) {
                Path file = Files.createTempFile("foreign_worker", ".py");
                file.toFile().deleteOnExit();
                Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
                return file;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** The other JVM. */
    static final class Child {
        private Child() {}

        public static void main(String[] args) throws IOException {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            LocalCrew crew = new LocalCrew(Integer.parseInt(args[0]), Child::tell);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                if (words[1].equals("hire")) {
                    crew.hire(words[0], Integer.parseInt(words[2]));
                } else {
                    crew.say(words[0], words[1]);
                }
            }
            // The test has ended without killing us.
            Runtime.getRuntime().halt(0);
        }

        private static synchronized void tell(String key, String line) {
            System.out.println(key + " " + line);
        }
    }

    private void read(Told told) {
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
                .lines()
                .forEach(line -> {
                    int space = line.indexOf(' ');
                    told.line(line.substring(0, space), line.substring(space + 1));
                });
    }

    @Override
    public void hire(String key, int maxAttempts) {
        say(key, "hire " + maxAttempts);
    }

    @Override
    public void say(String key, String word) {
        try {
            process.getOutputStream().write((key + " " + word + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void kill() {
        kill(process);
    }

    private static void kill(Process process) {
        process.destroyForcibly();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                throw new AssertionError("still there: " + process);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
