package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.guarantees.Capability;
import java.util.ArrayList;
import java.util.List;

/** This library. */
final class SemaphoreContestant implements Contestant {
    private final List<SemaphoreClient> clients = new ArrayList<>();
    private final List<List<DistributedSemaphore>> semaphores = new ArrayList<>();
    private final boolean fencing;

    SemaphoreContestant(Variant variant, String uri) {
        for (int i = 0; i < (variant.ownClients() ? variant.threads() : 1); i++) {
            SemaphoreClient client = SemaphoreClient.connect(uri);
            clients.add(client);
            List<DistributedSemaphore> named = new ArrayList<>();
            for (int name = 0; name < variant.names(); name++) {
                client.admin().create(variant.semaphore(name), variant.limit());
                named.add(client.semaphore(variant.semaphore(name)));
            }
            semaphores.add(named);
        }
        fencing = client().guarantees().has(Capability.FENCING);
    }

    @Override
    public Pass acquire(int thread, int name) throws InterruptedException {
        Permit permit =
                semaphores.get(semaphores.size() == 1 ? 0 : thread).get(name).acquire();
        return fencing
                ? new Pass(permit.fence().slot(), permit.fence().epoch(), permit::release)
                : new Pass(permit.slot(), System.nanoTime(), permit::release);
    }

    /** The first client. */
    SemaphoreClient client() {
        return clients.get(0);
    }

    @Override
    public void close() {
        clients.forEach(SemaphoreClient::close);
    }
}
