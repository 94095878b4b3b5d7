package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Shorthand for tests. */
final class Rabbit {
    private static final AtomicInteger NAMES = new AtomicInteger();

    private Rabbit() {}

    static SemaphoreBackend backend(String settings) {
        return backend(RabbitServer.uri(), settings);
    }

    static SemaphoreBackend backend(String uri, String settings) {
        return new RabbitBackendProvider().open(BackendUri.parse(uri + settings), HolderInfo.ofThisProcess("a test"));
    }

    static String name() {
        return "n" + NAMES.incrementAndGet() + "-" + ProcessHandle.current().pid();
    }

    static Connection connection() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(RabbitServer.uri());
        factory.setAutomaticRecoveryEnabled(false);
        return factory.newConnection();
    }

    static boolean exists(Connection connection, String queue) throws Exception {
        Channel channel = connection.createChannel();
        try {
            channel.queueDeclarePassive(queue);
            channel.close();
            return true;
        } catch (IOException e) {
            return !(Failures.signal(e).getReason() instanceof AMQP.Channel.Close close
                    && close.getReplyCode() == AMQP.NOT_FOUND);
        }
    }

    static ExchangeResult take(BackendSession session, int... wants) {
        return session.exchange(
                new ExchangeRequest(List.of(), Arrays.stream(wants).boxed().toList(), 1, false));
    }

    /** As for a caller that waits, and will ask again. */
    static ExchangeResult takeWaiting(BackendSession session, int want) {
        return session.exchange(new ExchangeRequest(List.of(), List.of(want), 1, true));
    }

    static Hold takeOne(BackendSession session) {
        return granted(take(session, 1).answers().get(0)).get(0);
    }

    static List<Hold> granted(Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            return granted.holds();
        }
        throw new AssertionError("not granted: " + answer);
    }

    static ExchangeResult giveBack(BackendSession session, Hold... holds) {
        return session.exchange(new ExchangeRequest(List.of(holds), List.of(), 1, false));
    }

    /** Under an alarm a thousand queues are looked for one by one, for which a busy machine needs its time. */
    static int freeUnderAlarm(String name) {
        try (SemaphoreBackend patient = backend("?timeout=20s")) {
            return patient.admin().describe(name).orElseThrow().free();
        }
    }

    /** What a session told of its own accord. */
    static final class News implements SessionListener {
        final List<Hold> lost = new CopyOnWriteArrayList<>();
        final List<String> ended = new CopyOnWriteArrayList<>();

        @Override
        public void lost(Collection<Hold> holds, String reason) {
            lost.addAll(holds);
        }

        @Override
        public void ended(String reason) {
            ended.add(reason);
        }
    }
}
