package io.github.distributedsemaphore.cli.demo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The backend of a demonstration: one that is there, or a temporary folder that goes away at the end. */
final class Workplace implements AutoCloseable {
    private final String backend;
    private final @Nullable Path folder;

    private Workplace(String backend, @Nullable Path folder) {
        this.backend = backend;
        this.folder = folder;
    }

    static Workplace at(String backend) {
        return new Workplace(backend, null);
    }

    static Workplace temporary() throws IOException {
        Path folder = Files.createTempDirectory("semaphore-quickstart-");
        try {
            return new Workplace("local:" + new URI(null, null, folder.toString(), null).getRawPath(), folder);
        } catch (URISyntaxException e) {
            throw new IOException("cannot write " + folder + " as a URI", e);
        }
    }

    String backend() {
        return backend;
    }

    @Override
    public void close() throws IOException {
        if (folder == null) {
            return;
        }
        try (Stream<Path> tree = Files.walk(folder)) {
            List<Path> deepestFirst = tree.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }
}
