package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.tck.Leftovers;
import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.ServerAccess;
import io.github.distributedsemaphore.tck.ServerControl;
import io.github.distributedsemaphore.tck.StateProbe;
import io.github.distributedsemaphore.tck.UriAccess;
import io.github.distributedsemaphore.tck.UriHarness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;

/** The compatibility kit on a broker. */
class RabbitTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(RabbitServer.uri());
    }

    private static final class Harness extends UriHarness implements StateProbe {
        private static final String SETTINGS = "?detection=7s&timeout=4s";

        private final UriAccess link;
        private Connection other;

        Harness(String address) {
            super(address + SETTINGS);
            link = new UriAccess(uri());
        }

        @Override
        public Optional<ServerAccess> link() {
            return Optional.of(link);
        }

        @Override
        public Optional<ServerControl> startServer() {
            return RabbitServer.isOurs() ? Optional.of(new RabbitControl(SETTINGS)) : Optional.empty();
        }

        @Override
        public Optional<StateProbe> state() {
            return Optional.of(this);
        }

        @Override
        public Leftovers leftovers() {
            return RabbitServer.isOurs() ? Leftovers.of(queues()) : Leftovers.NONE;
        }

        /** But for the mailboxes of clients, which are exclusive and go with the connection. */
        private static List<String> queues() {
            return RabbitServer.queues().stream()
                    .filter(queue -> !queue.startsWith(QueueNames.PREFIX + "client:"))
                    .toList();
        }

        /** The kit's own client may open its connection anew in the middle of a run; {@link SessionTest} counts threads. */
        @Override
        public boolean mayStay(Thread thread) {
            return thread.getName().startsWith("semaphore-rabbitmq-")
                    || thread.getName().startsWith("AMQP Connection");
        }

        @Override
        public void wipe(String name) {
            QueueNames names = new QueueNames(name);
            String prefix = QueueNames.PREFIX + names.encoded() + ":";
            // The names are in order, and the slots come before the stream: as when it is destroyed.
            RabbitServer.queues().stream()
                    .filter(queue -> queue.startsWith(prefix) || queue.equals(names.fences()))
                    .sorted()
                    .forEach(RabbitServer::delete);
        }

        @Override
        public void removeHolder(String name, int slot) {
            RabbitServer.delete(new QueueNames(name).hold(slot));
        }

        /** A queue that is exclusive to some other program: of one that is not, nobody but create can tell (see docs). */
        @Override
        public void occupy(String name) {
            try {
                other = Rabbit.connection();
                other.createChannel().queueDeclare(new QueueNames(name).slot(1), false, true, false, null);
            } catch (Exception e) {
                throw new IllegalStateException("could not occupy " + name, e);
            }
        }

        @Override
        public String occupant(String name) {
            return RabbitServer.ctl("-q", "list_queues", "--no-table-headers", "name", "arguments", "messages")
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
    }
}
