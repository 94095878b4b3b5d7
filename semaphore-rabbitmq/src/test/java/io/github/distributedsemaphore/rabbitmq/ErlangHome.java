package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What brokers that know each other have in common: a folder, a cookie and a port mapper, which are nobody else's. All that was
 * started in it ends with it, or with the JVM. Thread-safe.
 */
final class ErlangHome implements AutoCloseable {
    private static final Set<ErlangHome> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> OPEN.forEach(ErlangHome::close), "stop brokers"));
    }

    private final Path folder;
    private final int mapperPort = freePort();
    private final Set<Process> processes = ConcurrentHashMap.newKeySet();

    ErlangHome() {
        OPEN.add(this);
        try {
            folder = Files.createTempDirectory("semaphore-rabbitmq");
            Path cookie = Files.writeString(
                    folder.resolve(".erlang.cookie"), UUID.randomUUID().toString());
            Files.setPosixFilePermissions(cookie, PosixFilePermissions.fromString("r--------"));
            // Left to a broker it would be a daemon, which outlives all that use it.
            ProcessBuilder mapper = new ProcessBuilder("epmd").inheritIO();
            mapper.environment().putAll(environment());
            own(mapper.start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static int freePort() {
        return FreePorts.choose(1).get(0);
    }

    Path newFolder(String name) throws IOException {
        return Files.createDirectory(folder.resolve(name));
    }

    String cookie() {
        try {
            return Files.readString(folder.resolve(".erlang.cookie"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Map<String, String> environment() {
        return Map.of(
                "HOME", folder.toString(),
                "ERL_EPMD_PORT", Integer.toString(mapperPort),
                "ERL_EPMD_ADDRESS", "127.0.0.1");
    }

    void own(Process process) {
        processes.add(process);
    }

    @Override
    public void close() {
        if (OPEN.remove(this)) {
            processes.forEach(Process::destroyForcibly);
            // One that was started meanwhile is killed here.
            processes.forEach(process -> process.destroyForcibly().onExit().join());
            ProcessServer.delete(folder);
        }
    }
}
