package io.github.distributedsemaphore.benchmarks.contestants;

import com.ecwid.consul.v1.ConsulClient;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Two bare writes by the Consul client, each a commit, to a key of each thread. */
final class CommitsContestant implements Contestant {
    private final ConsulClient client;
    private final String prefix;

    CommitsContestant(Variant variant, String uri) {
        URI address = URI.create(uri);
        client = new ConsulClient(address.getHost(), address.getPort());
        prefix = variant.semaphore(0) + "/" + ProcessHandle.current().pid() + "-";
    }

    @Override
    public Pass acquire(int thread, int name) {
        write(thread);
        return Pass.withoutSlot(() -> write(thread));
    }

    /** No two values are equal: Consul takes a write of the same bytes for none. */
    private void write(int thread) {
        String value = "as long as the list of the holders of a semaphore, " + System.nanoTime();
        client.setKVBinaryValue(prefix + thread, value.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        // The Consul client keeps its connections for the life of the JVM.
    }
}
