package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The holders of a semaphore's slots, as they describe themselves: an exclusive queue carries nothing that could be read over AMQP. An
 * answer has a line for host, one for process id, one for label, and one for each slot with the time it was taken and its epoch.
 */
final class RollCall {
    private static final Logger LOG = LoggerFactory.getLogger(RollCall.class);

    /** A holder that does not answer within it, because it is stopped for example, is shown without a name. */
    static final Duration WAIT = Duration.ofSeconds(1);

    private static final String REPLY_TO = "amq.rabbitmq.reply-to";
    private static final int HEADER = 3;

    private final ConcurrentMap<Integer, Holder> answers = new ConcurrentHashMap<>();
    private final CountDownLatch missing;

    private volatile @Nullable Channel channel;

    /** Nobody has answered yet. */
    RollCall(int expected) {
        this.missing = new CountDownLatch(expected);
    }

    /** Asks. The answers come to the same channel, by the broker's direct reply-to, until that is {@linkplain #close closed}. */
    void ask(ProbeConnection.Line line, String semaphore) throws IOException {
        Channel asking = line.newChannel();
        channel = asking;
        asking.basicConsume(REPLY_TO, true, (tag, message) -> answered(message.getBody()), tag -> {});
        AMQP.BasicProperties question = new AMQP.BasicProperties.Builder()
                .type(Mailbox.ROLL_CALL)
                .replyTo(REPLY_TO)
                .build();
        asking.basicPublish(Mailbox.EXCHANGE, semaphore, question, new byte[0]);
    }

    /** May block for a moment. */
    void close() {
        Channel asking = channel;
        if (asking != null) {
            HolderConnection.abort(asking);
        }
    }

    static byte[] write(HolderInfo self, List<HeldSlots.Entry> slots) {
        StringBuilder text = new StringBuilder();
        text.append(self.host()).append('\n');
        text.append(self.pid()).append('\n');
        text.append(self.label()).append('\n');
        for (HeldSlots.Entry entry : slots) {
            text.append(entry.hold().slot()).append(' ').append(entry.since()).append(' ');
            text.append(entry.hold().epoch()).append('\n');
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private void answered(byte[] body) {
        List<String> lines = new String(body, StandardCharsets.UTF_8).lines().toList();
        try {
            for (String line : lines.subList(HEADER, lines.size())) {
                String[] words = line.split(" ", -1);
                int slot = Integer.parseInt(words[0]);
                Instant since = Instant.ofEpochMilli(Long.parseLong(words[1]));
                long epoch = Long.parseLong(words[2]);
                Holder holder = new Holder(
                        slot, epoch, lines.get(0), Long.parseLong(lines.get(1)), lines.get(2), since, HolderState.HELD);
                if (answers.put(slot, holder) == null) {
                    missing.countDown();
                }
            }
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            LOG.debug("an answer that is not of this library", e);
        }
    }

    void await(Deadline end) {
        boolean unused = InterruptShield.await(missing::await, end);
    }

    /** The holder of a slot that is held: without a name if nobody claimed it. */
    Holder holder(int slot, HolderState state) {
        Holder known = answers.get(slot);
        return known == null
                ? new Holder(slot, 0, "", 0, "", null, state)
                : new Holder(slot, known.epoch(), known.host(), known.pid(), known.label(), known.since(), state);
    }
}
