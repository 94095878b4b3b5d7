package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConfirmCallback;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells which queues exist: by probes, many at a time; and where the broker takes no messages, by passive declarations one by
 * one on a connection that never publishes. A probe is a mandatory message with a confirm. A message that cannot be routed comes
 * back, and always before its confirmation. A negative confirmation means that the message was routed and not stored, so the
 * queue exists. Thread-safe.
 */
public final class QueueSight {
    private static final Logger LOG = LoggerFactory.getLogger(QueueSight.class);

    /** So many probes are in flight on a channel: more gain nothing, for the broker then throttles the channel. */
    public static final int MOST_AT_ONCE = 128;

    /** So many channels are used at the same time: the broker works on each of them by itself. */
    private static final int CHANNELS = 2;

    /** A queue that hardly exists, so that the answer is the connection's own. */
    private static final List<String> PING = List.of(RabbitSettings.QUEUE_PREFIX + "ping");

    /** Such a part of the time-out is left for it: some three round trips of the slowest link that the time-out is meant for. */
    private static final int PART_FOR_PING = 8;

    private static final byte[] EMPTY = {};

    private final RabbitConnections connections;
    private final ProbeConnection probes;

    public QueueSight(RabbitConnections connections, ProbeConnection probes) {
        this.connections = connections;
        this.probes = probes;
    }

    /**
     * Looks for queues. The fallback is asked only if probes are not answered.
     *
     * @return the indexes of those that exist
     */
    public BitSet look(List<String> queues, Supplier<HolderConnection> fallback, CallBudget budget)
            throws LinkLostException {
        return look(queues, fallback, budget.probing(), budget);
    }

    /**
     * The same with another time for probes.
     *
     * @param probing how long to wait for the next answer. A broker that answers is slow, and not one that takes no messages
     */
    private BitSet look(List<String> queues, Supplier<HolderConnection> fallback, Duration probing, CallBudget budget)
            throws LinkLostException {
        // Of many there is no time to look one by one, and the next probes have a new connection.
        int tries = queues.isEmpty() ? 0 : queues.size() > MOST_AT_ONCE ? 2 : 1;
        // Later there is too little time to tell a connection that is slow from one that does not answer.
        for (; tries > 0 && !budget.isSpent(); tries--) {
            try {
                return probe(queues, () -> budget.patience(probing));
            } catch (ProbeFailedException e) {
                LOG.debug("probing failed; what is not probed again is looked for one by one", e);
            }
        }
        return queues.isEmpty() ? new BitSet() : lookOneByOne(queues, fallback.get(), budget);
    }

    /**
     * The same for slots that are held. A refused login, after a change of the password perhaps, is no reason to end what an older
     * connection holds. A right that is withdrawn is one.
     */
    public BitSet lookForHeld(
            List<String> queues, Supplier<HolderConnection> holder, Duration probing, CallBudget budget)
            throws LinkLostException {
        try {
            return look(queues, holder, probing, budget);
        } catch (BackendAccessException e) {
            if (Failures.isOfChannel(e)) {
                throw e;
            }
            LOG.debug("{}: no connection for probes, so slots are looked for one by one", budget.subject(), e);
            return lookOneByOne(queues, holder.get(), budget);
        }
    }

    private static BitSet lookOneByOne(List<String> queues, HolderConnection connection, CallBudget budget)
            throws LinkLostException {
        if (connection.hasManyUnanswered()) {
            // Each more would keep its channel too, and the holds are looked at on the same connection.
            throw Failures.unavailable(budget.subject() + ": earlier looks at queues have had no answer yet", null);
        }
        BitSet present = new BitSet();
        List<QueueAnswer> answers = connection.look(queues, budget.end());
        for (int i = 0; i < queues.size(); i++) {
            present.set(i, answers.get(i) != QueueAnswer.ABSENT);
        }
        return present;
    }

    /**
     * The same by probes alone.
     *
     * @param patience until when to wait; asked once for the connection, and once for each part of the queues
     */
    public BitSet probe(List<String> queues, Supplier<Deadline> patience) throws ProbeFailedException {
        ProbeConnection.Line line = probes.line(patience.get());
        if (line.isBlocked()) {
            throw new ProbeFailedException("the broker takes no messages now", null);
        }
        boolean reusable = false;
        try {
            BitSet present = new BitSet();
            for (int from = 0; from < queues.size(); from += CHANNELS * MOST_AT_ONCE) {
                int to = Math.min(queues.size(), from + CHANNELS * MOST_AT_ONCE);
                probe(line, queues.subList(0, to), from, present, patience.get());
            }
            reusable = true;
            return present;
        } catch (BackendAccessException e) {
            // It only lets us open no more channels; those that it has are of use to others.
            reusable = true;
            throw new ProbeFailedException("queues could not be probed: " + e.getMessage(), e);
        } catch (IOException | ShutdownSignalException e) {
            refuseIfDenied(e);
            throw new ProbeFailedException("queues could not be probed: " + e, e);
        } finally {
            if (!reusable) {
                forgetIfSilent(line, patience.get());
            }
        }
    }

    /**
     * Forgets a connection that does not answer at all. If only a queue is silent, as its node may be, others still need the connection,
     * and another one would be no better.
     */
    private void forgetIfSilent(ProbeConnection.Line line, Deadline patience) {
        Deadline end = patience.earlier(Deadline.after(
                System.nanoTime(), connections.settings().timeout().dividedBy(PART_FOR_PING)));
        try {
            if (!line.isBlocked()) {
                probe(line, PING, 0, new BitSet(), end);
            }
        } catch (IOException | ShutdownSignalException | SemaphoreException | ProbeFailedException e) {
            LOG.debug("the connection for probes does not answer", e);
            if (!line.isBlocked()) {
                probes.forget(line);
            }
        }
    }

    private void probe(ProbeConnection.Line line, List<String> queues, int first, BitSet present, Deadline patience)
            throws IOException, ProbeFailedException {
        Deque<Prober> asked = new ArrayDeque<>();
        try {
            for (int from = first; from < queues.size(); from += MOST_AT_ONCE) {
                Prober prober = line.idleProber();
                if (prober == null) {
                    prober = connections.call(() -> new Prober(line.newChannel()), line::keep, patience);
                }
                asked.add(prober);
                prober.send(queues, from, Math.min(queues.size(), from + MOST_AT_ONCE));
            }
            while (!asked.isEmpty()) {
                asked.element().await(present, patience);
                line.keep(asked.remove());
            }
        } finally {
            // Their answers may come yet, and would be taken for those of the next look.
            asked.forEach(prober -> connections.executeIfPossible(prober::abort));
        }
    }

    private void refuseIfDenied(Exception failure) {
        ShutdownSignalException signal = Failures.signal(failure);
        if (signal != null
                && signal.getReason() instanceof AMQP.Channel.Close close
                && close.getReplyCode() == AMQP.ACCESS_REFUSED) {
            throw Failures.denied(connections.settings(), "the default exchange", close.getReplyText(), failure);
        }
    }

    /**
     * A channel for probes. For one thread at a time; what comes back arrives on another one, before the confirmations. The client
     * library's own wait for these goes by the wall clock, so it is not used.
     */
    static final class Prober {
        private final Channel channel;
        private volatile Batch batch = new Batch(0, 0, 0);

        Prober(Channel channel) throws IOException {
            this.channel = channel;
            channel.addReturnListener(message ->
                    batch.returned(Integer.parseInt(message.getProperties().getMessageId())));
            ConfirmCallback confirmed = (tag, multiple) -> batch.confirmed(tag, multiple);
            channel.addConfirmListener(confirmed, confirmed);
            channel.addShutdownListener(signal -> batch.present.completeExceptionally(signal));
            channel.confirmSelect();
        }

        boolean isOpen() {
            return channel.isOpen();
        }

        private void abort() {
            HolderConnection.abort(channel);
        }

        private void send(List<String> queues, int from, int to) throws IOException {
            batch = new Batch(channel.getNextPublishSeqNo(), from, to);
            for (int i = from; i < to; i++) {
                AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                        .messageId(Integer.toString(i))
                        .deliveryMode(1)
                        .expiration("0")
                        .build();
                channel.basicPublish("", queues.get(i), true, properties, EMPTY);
            }
        }

        /** Waits for the answers, and adds the queues that exist. */
        private void await(BitSet present, Deadline end) throws IOException, ProbeFailedException {
            try {
                present.or(InterruptShield.await(batch.present, end));
            } catch (ExecutionException e) {
                throw new IOException("the channel of the probes was closed", e);
            } catch (TimeoutException e) {
                throw new ProbeFailedException("probes were not confirmed in time", e);
            }
        }
    }

    /** Probes that are sent together, and what is known so far. Changed by one thread, which the client library has for that. */
    private static final class Batch {
        private final long firstTag;
        private final BitSet unconfirmed = new BitSet();
        private final BitSet unreturned = new BitSet();

        /** Done with the indexes of the queues that exist when all are confirmed, which the broker does in any order. */
        private final CompletableFuture<BitSet> present = new CompletableFuture<>();

        Batch(long firstTag, int from, int to) {
            this.firstTag = firstTag;
            unconfirmed.set(0, to - from);
            unreturned.set(from, to);
        }

        void returned(int index) {
            unreturned.clear(index);
        }

        void confirmed(long tag, boolean multiple) {
            int probe = (int) (tag - firstTag);
            unconfirmed.clear(multiple ? 0 : probe, probe + 1);
            if (unconfirmed.isEmpty()) {
                present.complete(unreturned);
            }
        }
    }
}
