package io.github.distributedsemaphore.internal;

import static io.github.distributedsemaphore.internal.World.NAME;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Disturbs the players of a simulation, waits for them, and looks at what they leave behind. */
final class Director {
    private static final long INSPECTION_NANOS = 50_000_000;

    private final World world;
    private final SimulatedEnvironment environment;
    private final Random random;

    Director(World world) {
        this.world = world;
        this.environment = world.environment;
        this.random = world.random;
    }

    void direct() {
        world.director = Thread.currentThread();
        pause();
        resize();
        revoke();
        end();
        if (world.destruction) {
            world.operator.destroy(NAME);
        }
        while (world.playing > 0) {
            environment.park(this, Long.MAX_VALUE);
        }
        world.calm = true;
        environment.calm();
        noneIsKept();
        environment.sleep(World.LEASE.toNanos() * 2);
        world.operator.create(NAME, world.limit);
        allFree();
        world.clients.forEach(SemaphoreClient::close);
        environment.sleep(World.LEASE.toNanos());
        assertThat(world.server.openSessions()).as("sessions left").isZero();
        world.oracle.finish();
    }

    private void pause() {
        environment.sleep(random.nextInt(30_000_000));
    }

    private void resize() {
        if (world.resizes) {
            world.operator.resize(NAME, 1 + random.nextInt(world.limit));
            pause();
            world.operator.resize(NAME, world.limit);
        }
    }

    private void revoke() {
        if (!world.revocations) {
            return;
        }
        for (int i = random.nextInt(4); i >= 0; i--) {
            if (random.nextBoolean()) {
                world.server.revoke(NAME, 1 + random.nextInt(world.limit), "revoked");
            } else {
                world.server.endSessions(world.backends.get(random.nextInt(world.backends.size())), "ended");
                world.oracle.reached("session end");
            }
            pause();
        }
    }

    private void end() {
        if (world.crash) {
            world.server.crash(world.backends.get(world.backends.size() - 1));
            world.oracle.reached("crash");
        }
        if (world.closing) {
            if (random.nextBoolean()) {
                world.clients.get(0).close();
            } else {
                world.clients.get(0).abort();
                world.oracle.reached("abort");
            }
        }
    }

    /** Whoever has given up or released has left no trace long before a lease would have removed it. */
    private void noneIsKept() {
        if (world.crash || world.closing) {
            return;
        }
        environment.sleep(World.LEASE.toNanos() / 2);
        List<Holder> left = world.operator.describe(NAME).isEmpty()
                ? List.of()
                : world.operator.describe(NAME).orElseThrow().holders();
        assertThat(left).as("holders kept").isEmpty();
        world.oracle.reached("prompt return");
    }

    private void allFree() {
        world.calm = true;
        try (SemaphoreClient fresh = world.addClient()) {
            assertThat(fresh.admin().describe(NAME).orElseThrow().holders())
                    .as("holders left")
                    .isEmpty();
            List<Permit> all = new ArrayList<>();
            for (int i = 0; i < world.limit; i++) {
                all.add(fresh.semaphore(NAME).tryAcquire().orElseThrow());
            }
            assertThat(fresh.semaphore(NAME).tryAcquire()).isEmpty();
            world.oracle.granted(all);
            for (Permit permit : all) {
                world.oracle.releasing(permit);
                world.oracle.released(permit, permit.release());
            }
        }
    }

    /** Where nothing is late, no slot stays free for long while somebody waits: a wake-up would have been lost. */
    void inspect() {
        if (!world.punctual || world.destruction || world.closing || world.crash) {
            return;
        }
        int grants = -1;
        while (world.playing > 0) {
            environment.sleep(INSPECTION_NANOS);
            boolean idle = world.waiting > 0
                    && world.operator.describe(NAME).orElseThrow().holders().isEmpty();
            if (idle && grants == world.oracle.grants()) {
                throw new AssertionError("all slots are free and " + world.waiting + " wait");
            }
            grants = idle ? world.oracle.grants() : -1;
        }
        world.oracle.reached("inspection");
    }
}
