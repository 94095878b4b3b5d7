package io.github.distributedsemaphore.redis;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import redis.embedded.core.ExecutableProvider;

/** The server of version 6.2, the oldest that is supported, which a library brings for the common platforms. */
final class EmbeddedRedis {
    private EmbeddedRedis() {}

    private static final class Extracted {
        static final File FILE = extract();

        private static File extract() {
            try {
                File folder = Files.createTempDirectory("embedded-redis").toFile();
                File program = ExecutableProvider.newJarResourceProvider(folder).get();
                folder.deleteOnExit();
                program.deleteOnExit();
                return program;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Whether all tests are to run on it: with {@code -Dtck.embedded=true}, or because there is no other. */
    static boolean isWanted() {
        return Boolean.getBoolean("tck.embedded")
                || Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
                        .noneMatch(folder -> Files.isExecutable(Path.of(folder, "redis-server")));
    }

    static String program() {
        return Extracted.FILE.getPath();
    }
}
