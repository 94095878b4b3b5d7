package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.ServerSettings.Credentials;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.github.distributedsemaphore.spi.support.TlsSettings;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisReactiveCommandsImpl;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.protocol.PushHandler;
import io.lettuce.core.pubsub.PubSubEndpoint;
import io.lettuce.core.pubsub.RedisPubSubReactiveCommandsImpl;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnectionImpl;
import io.lettuce.core.pubsub.api.sync.RedisPubSubCommands;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes connections. None reconnects by itself: Lettuce would send again what was under way, without the WATCH and without the
 * MULTI that it was meant to have. Credentials and database are sent by commands of our own, because Lettuce's may report the
 * end of a connection in place of the reason that the server gave for it.
 *
 * <p>Thread-safe; nothing here blocks but {@link #close}.
 */
public final class RedisConnector {
    private final ServerSettings settings;
    private final ClientResources resources;
    private final RedisClient client;
    private final AtomicBoolean closed = new AtomicBoolean();

    RedisConnector(ServerSettings settings) {
        this.settings = settings;
        ClientOptions.Builder options = ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .pingBeforeActivateConnection(false)
                // The replies of the newer protocol differ in shape, and it has nothing that we need.
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(settings.timeout())
                        .keepAlive(true)
                        .build())
                // We wait with bounds of our own: a timer for each command would cost more than the command.
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build());
        settings.tls().ifPresent(tls -> options.sslOptions(encryption(tls, settings.timeout())));
        ClientOptions built = options.build();
        // The last that can fail has passed: what is taken here is given back by close.
        this.resources = SharedThreads.take();
        this.client = new CommandsClient(resources);
        client.setOptions(built);
    }

    /** Opens a connection for commands, on which the server was found to be fit. */
    CompletableFuture<StatefulRedisConnection<String, String>> connect(HostAndPort server, Greeting greeting) {
        return greeted(
                client.connectAsync(StringCodec.UTF8, uri(server)),
                server,
                greeting.batch(),
                replies -> greeting.read(replies, server));
    }

    /** Opens a connection for channels. */
    CompletableFuture<StatefulRedisPubSubConnection<String, String>> connectPubSub(HostAndPort server) {
        CommandBatch greeting = new CommandBatch();
        settings.addIdentity(greeting);
        return greeted(client.connectPubSubAsync(StringCodec.UTF8, uri(server)), server, greeting, Replies::requireAll);
    }

    /** Asks something on a connection that is made for it. */
    CompletableFuture<Replies> askOnce(HostAndPort server, Credentials credentials, CommandBatch question) {
        CommandBatch greeting = new CommandBatch();
        credentials.addTo(greeting);
        return greeted(client.connectAsync(StringCodec.UTF8, uri(server)), server, greeting, Replies::requireAll)
                .thenCompose(connection -> dispatched(connection, question, server)
                        .whenComplete((replies, failure) -> ignore(connection.closeAsync())));
    }

    private RedisURI uri(HostAndPort server) {
        return RedisURI.builder()
                .withHost(server.host())
                .withPort(server.port())
                .withSsl(settings.address().encrypted())
                .withVerifyPeer(SslVerifyMode.FULL)
                .withTimeout(settings.timeout())
                .build();
    }

    private <C extends StatefulRedisConnection<String, String>> CompletableFuture<C> greeted(
            CompletionStage<C> connecting, HostAndPort server, CommandBatch greeting, Consumer<Replies> check) {
        return connecting.toCompletableFuture().thenCompose(connection -> {
            if (closed.get()) {
                // The library closed only what it had by then, and the threads go on if others use them.
                ignore(connection.closeAsync());
                return CompletableFuture.failedFuture(
                        new BackendUnavailableException("The client of " + server + " was closed", null));
            } else if (greeting.isEmpty()) {
                return CompletableFuture.completedFuture(connection);
            }
            return dispatched(connection, greeting, server)
                    .thenApply(replies -> {
                        check.accept(replies);
                        return connection;
                    })
                    .whenComplete((welcome, failure) -> {
                        if (failure != null) {
                            ignore(connection.closeAsync());
                        }
                    });
        });
    }

    /** Sends commands; without an answer in time it fails and the connection is closed. */
    private CompletableFuture<Replies> dispatched(
            StatefulRedisConnection<String, String> connection, CommandBatch batch, HostAndPort server) {
        CompletableFuture<Replies> answer = new CompletableFuture<>();
        Future<?> timer = timer().schedule(
                        () -> answer.completeExceptionally(new TimeoutException(server + " did not answer in time")),
                        settings.timeout().toMillis(),
                        TimeUnit.MILLISECONDS);
        ignore(batch.answer().whenComplete((replies, failure) -> {
            timer.cancel(false);
            if (failure == null) {
                answer.complete(replies);
            } else {
                answer.completeExceptionally(new WireException(server + " ended the connection", failure, false));
            }
        }));
        batch.sendOn(connection);
        return answer;
    }

    /** For tasks that do not block. */
    ScheduledExecutorService timer() {
        return resources.eventExecutorGroup();
    }

    private static void ignore(CompletionStage<?> stage) {
        Future<?> unused = stage.toCompletableFuture();
    }

    /** Does nothing the second time: the threads of others would end with it. */
    void close(Duration atMost, Deadline deadline) throws ExecutionException, TimeoutException {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try {
            InterruptShield.await(client.shutdownAsync(0, atMost.toMillis(), TimeUnit.MILLISECONDS), deadline);
        } finally {
            Future<?> end = SharedThreads.giveBack(atMost);
            if (end != null) {
                InterruptShield.await(end, deadline);
            }
        }
    }

    /**
     * The threads of the connections, which all clients of this process share: with threads of its own for each of sixteen clients, a
     * pair of acquire and release costs several times the processor time. They begin with the first client and end with the last.
     */
    private static final class SharedThreads {
        private static final int FEWEST = 2;

        private static @Nullable ClientResources resources;
        private static int users;

        static synchronized ClientResources take() {
            ClientResources present = resources;
            if (present == null) {
                present = make();
                resources = present;
            }
            users++;
            return present;
        }

        /** Returns the end to wait for; null if others use them. */
        static synchronized @Nullable Future<?> giveBack(Duration atMost) {
            users--;
            ClientResources present = resources;
            if (users > 0 || present == null) {
                return null;
            }
            resources = null;
            return present.shutdown(0, atMost.toMillis(), TimeUnit.MILLISECONDS);
        }

        private static ClientResources make() {
            int threads = Math.max(FEWEST, Runtime.getRuntime().availableProcessors());
            return ClientResources.builder()
                    .ioThreadPoolSize(threads)
                    .computationThreadPoolSize(FEWEST)
                    .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                    .nettyCustomizer(new NettyCustomizer() {
                        @Override
                        public void afterChannelInitialized(Channel channel) {
                            channel.pipeline().addLast(new CommandBatch.Unpacking());
                        }
                    })
                    .build();
        }
    }

    /**
     * A client whose connections only send commands that are put together here. For every connection Lettuce would make a dynamic
     * proxy of its five hundred commands, and a reactive form of each. A short-lived process would pay for both.
     */
    private static final class CommandsClient extends RedisClient {
        CommandsClient(ClientResources resources) {
            super(resources, new RedisURI());
        }

        @Override
        protected <K, V> StatefulRedisConnectionImpl<K, V> newStatefulRedisConnection(
                RedisChannelWriter writer, PushHandler pushes, RedisCodec<K, V> codec, Duration timeout) {
            return new StatefulRedisConnectionImpl<>(writer, pushes, codec, timeout) {
                @Override
                protected @Nullable RedisCommands<K, V> newRedisSyncCommandsImpl() {
                    return null;
                }

                @Override
                protected @Nullable RedisReactiveCommandsImpl<K, V> newRedisReactiveCommandsImpl() {
                    return null;
                }
            };
        }

        @Override
        protected <K, V> StatefulRedisPubSubConnectionImpl<K, V> newStatefulRedisPubSubConnection(
                PubSubEndpoint<K, V> endpoint, RedisChannelWriter writer, RedisCodec<K, V> codec, Duration timeout) {
            return new StatefulRedisPubSubConnectionImpl<>(endpoint, writer, codec, timeout) {
                @Override
                protected @Nullable RedisPubSubCommands<K, V> newRedisSyncCommandsImpl() {
                    return null;
                }

                @Override
                protected @Nullable RedisPubSubReactiveCommandsImpl<K, V> newRedisReactiveCommandsImpl() {
                    return null;
                }
            };
        }
    }

    private static SslOptions encryption(TlsSettings tls, Duration timeout) {
        SslOptions.Builder options = SslOptions.builder().jdkSslProvider().handshakeTimeout(timeout);
        tls.trust().ifPresent(options::trustManager);
        tls.identity().ifPresent(options::keyManager);
        return options.build();
    }
}
