package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Shows a broker to the kit. */
final class RabbitHarness extends UriHarness implements StateProbe {
    private final UriAccess link;
    private final BrokerShell shell;
    private final @Nullable Supplier<ServerControl> server;
    private @Nullable Accounts accounts;
    private Connection other;

    /**
     * Takes what there is.
     *
     * @param uri of the broker, with settings
     * @param shell of the broker
     * @param server starts one that may be stopped; null if that cannot be had
     */
    RabbitHarness(String uri, BrokerShell shell, @Nullable Supplier<ServerControl> server) {
        super(uri);
        this.link = new UriAccess(uri);
        this.shell = shell;
        this.server = server;
    }

    @Override
    public String backendVersion() {
        return "RabbitMQ " + shell.eval("rabbit_misc:version().").replaceAll("[^0-9.]", "");
    }

    @Override
    public Optional<ServerAccess> link() {
        return Optional.of(link);
    }

    @Override
    public Optional<ServerControl> startServer() {
        return Optional.ofNullable(server).map(Supplier::get);
    }

    @Override
    public synchronized Optional<Accounts> accounts() {
        if (accounts == null) {
            accounts = RabbitAccounts.at(shell, uri());
        }
        return Optional.of(accounts);
    }

    @Override
    public Optional<StateProbe> state() {
        return Optional.of(this);
    }

    /** But for the mailboxes of clients, which are exclusive and go with the connection. */
    @Override
    public Leftovers leftovers() {
        return Leftovers.of(shell.queues().stream()
                .filter(queue -> !queue.startsWith(QueueNames.PREFIX + "client:"))
                .toList());
    }

    @Override
    public void wipe(String name) {
        QueueNames names = new QueueNames(name);
        String prefix = QueueNames.PREFIX + names.encoded() + ":";
        // The names are in order, and the slots come before the stream: as when it is destroyed.
        shell.queues().stream()
                .filter(queue -> queue.startsWith(prefix) || queue.equals(names.fences()))
                .sorted()
                .forEach(shell::delete);
    }

    @Override
    public void removeHolder(String name, int slot) {
        shell.delete(new QueueNames(name).hold(slot));
    }

    /** A queue that is exclusive to some other program: of one that is not, nobody but create can tell (see docs). */
    @Override
    public void occupy(String name) {
        try {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setUri(uri().replaceAll("\\?.*", ""));
            other = factory.newConnection();
            other.createChannel().queueDeclare(new QueueNames(name).slot(1), false, true, false, null);
        } catch (Exception e) {
            throw new IllegalStateException("could not occupy " + name, e);
        }
    }

    @Override
    public String occupant(String name) {
        return shell.ctl("-q", "list_queues", "--no-table-headers", "name", "arguments", "messages")
                .lines()
                .filter(line -> line.startsWith(new QueueNames(name).slot(1)))
                .toList()
                .toString();
    }

    @Override
    public void remove(String name) {
        try {
            other.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void plantEpoch(String name, long epoch) {
        throw new HookMissingException(
                "StateProbe.plantEpoch: epochs are 1,024 times the offset in a stream, which nobody can set");
    }

    /** The limit is the number of slots without a gap, so these lie beyond one: what a broken-off deletion leaves. */
    @Override
    public void plantSlots(String name, int more) {
        QueueNames names = new QueueNames(name);
        int limit = 0;
        Set<String> queues = Set.copyOf(shell.queues());
        while (queues.contains(names.slot(limit + 1))) {
            limit++;
        }
        try {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setUri(uri().replaceAll("\\?.*", ""));
            try (Connection planter = factory.newConnection()) {
                Map<String, Object> arguments = Map.of("x-max-length", 0, "x-queue-type", "classic");
                for (int slot = limit + 2; slot < limit + 2 + more; slot++) {
                    planter.createChannel().queueDeclare(names.slot(slot), true, false, false, arguments);
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException("could not plant slots of " + name, e);
        }
    }
}
