package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.net.ServerSettings.Credentials;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The server that sentinels call the master, after "Guidelines for Redis clients with support for Redis Sentinel": asked for
 * when there is no connection to one, and then asked itself whether it is.
 */
public final class SentinelServers implements Servers {
    private static final List<String> NOT_MASTER = List.of("READONLY", "MASTERDOWN", "UNBLOCKED");

    private final RedisConnector connector;
    private final List<HostAndPort> sentinels;
    private final String master;
    private final Credentials credentials;
    private volatile @Nullable HostAndPort known;

    private @Nullable Doubt doubt;

    /** A question whether another server leads. */
    private record Doubt(HostAndPort master, long nanos, CompletableFuture<HostAndPort> answer) {
        private static final long RECENT_NANOS = 100_000_000;

        boolean isRecent(HostAndPort doubted) {
            return master.equals(doubted) && (!answer.isDone() || System.nanoTime() - nanos < RECENT_NANOS);
        }
    }

    SentinelServers(RedisConnector connector, List<HostAndPort> sentinels, String master, Credentials credentials) {
        this.connector = connector;
        this.sentinels = sentinels;
        this.master = master;
        this.credentials = credentials;
    }

    @Override
    public CompletableFuture<HostAndPort> serverOf(String key) {
        HostAndPort server = known;
        return server == null ? ask() : CompletableFuture.completedFuture(server);
    }

    @Override
    public void forget(HostAndPort server) {
        if (server.equals(known)) {
            known = null;
        }
    }

    private CompletableFuture<HostAndPort> ask() {
        return Servers.firstAnswer(sentinels, this::ask, (sentinel, found) -> true)
                .thenApply(this::know);
    }

    private HostAndPort know(HostAndPort found) {
        known = found;
        return found;
    }

    private CompletableFuture<HostAndPort> ask(HostAndPort sentinel) {
        CommandBatch question = new CommandBatch();
        int address = question.add(RedisVerb.SENTINEL, "get-master-addr-by-name", master);
        return connector.askOnce(sentinel, credentials, question).thenApply(replies -> {
            Reply reply = replies.get(address);
            if (reply.isNil()) {
                throw new IncompatibleStateException(
                        "The sentinel at " + sentinel + " knows no server '" + master
                                + "': correct the setting 'master'",
                        null);
            }
            return new HostAndPort(
                    reply.list().get(0).text(), (int) reply.list().get(1).number());
        });
    }

    @Override
    public boolean isElsewhere(String error, HostAndPort from) {
        boolean elsewhere = NOT_MASTER.stream().anyMatch(error::startsWith);
        if (elsewhere) {
            forget(from);
        }
        return elsewhere;
    }

    /**
     * A master that was cut off from its peers lacks replicas, and does not hear that another one leads. As long as no sentinel names
     * another one it stays the master, so nothing else of a client is disturbed when its replicas are just away. A sentinel that was cut
     * off with it goes on naming it, and is outvoted by any other.
     */
    @Override
    public void doubt(String error, HostAndPort from, Runnable left) {
        if (!error.startsWith(Replicas.SHORTAGE)) {
            return;
        }
        Future<?> unused = second(from).thenAccept(found -> {
            if (!found.equals(from)) {
                left.run();
            }
        });
    }

    /** All wires to a master that lacks replicas ask the same at the same time. */
    private synchronized CompletableFuture<HostAndPort> second(HostAndPort first) {
        HostAndPort server = known;
        if (!first.equals(server)) {
            return serverOf("");
        }
        Doubt present = doubt;
        if (present == null || !present.isRecent(first)) {
            present = new Doubt(
                    first,
                    System.nanoTime(),
                    Servers.firstAnswer(sentinels, this::ask, (sentinel, found) -> !found.equals(first))
                            .thenApply(found -> first.equals(known) ? know(found) : found));
            doubt = present;
        }
        return present.answer();
    }
}
