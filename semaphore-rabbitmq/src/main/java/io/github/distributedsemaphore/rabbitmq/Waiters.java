package io.github.distributedsemaphore.rabbitmq;

import com.rabbitmq.client.Delivery;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.spi.BackendSession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Which client a release wakes. All clients that wait at a semaphore are consumers of one queue. A release puts a message there
 * that names the slot, and the broker gives it to the next of them in turn. So a slot that is free wakes one client, however
 * many wait. A message that comes back says that nobody does.
 *
 * <p>A client that cannot use the message passes it on, a few times at most. Nothing depends on these messages: a client
 * also looks on a timer. Between two such looks it asks nothing of the broker unless it is notified. Thread-safe.
 */
final class Waiters {
    /** How often a message is passed on by clients that cannot use it. */
    static final int MOST_HOPS = 3;

    /**
     * How long a slot that was given back is left to others that wait. They have to be notified and to declare, which takes a
     * few round trips; this client itself would nearly always be faster.
     */
    private static final Duration TURN = Duration.ofMillis(30);

    /** So often at least callers of this client look at all slots, also if they are offered some all the time. */
    private static final Duration ALL = Duration.ofSeconds(1);

    /** How long a message may lie here until a caller asks for its slot. */
    private static final Duration UNUSED = Duration.ofMillis(20);

    private static final long RECHECK_NANOS = 500_000_000;
    private static final long DEAF_RECHECK_NANOS = 100_000_000;
    private static final long POSTPONED_NANOS = 10_000_000;

    /** Of so many that wait some will look soon, so that the others look more seldom: by a factor that grows with the crowd. */
    private static final int MANY = 16;

    private static final int MORE_SELDOM = 8;
    private static final int MOST_SELDOM = 32;

    /** Of a larger crowd so many look in the time in which each could. */
    private static final int ENOUGH = 128;

    private final RabbitConnections connections;
    private final Mailbox mailbox;
    private final QueueNames names;
    private final WaitersQueue queue;

    /** The slots that this client was notified of and has not asked for. */
    private final Queue<Offer> offers = new ConcurrentLinkedQueue<>();

    private volatile Runnable hint = () -> {};

    /** Whether callers of this client wait, as far as is known. */
    private volatile boolean waiting;

    /** Whether the last message did not come back, so that somebody waits, or it is not known. */
    private volatile boolean unreturned;

    private volatile Deadline turnOfOthers = Deadline.at(System.nanoTime());
    private volatile Deadline nextLook = Deadline.at(System.nanoTime());

    /** When they look at all slots, whatever is offered. */
    private volatile Deadline nextLookAtAll = Deadline.at(System.nanoTime());

    /** Whether the next look has a reason of its own: it is neither put off nor left out. */
    private volatile boolean surely = true;

    /** Whether the last look was none, as another client collected slots just then. */
    private volatile boolean postponed;

    Waiters(RabbitConnections connections, ProbeConnection probes, Mailbox mailbox, QueueNames names) {
        this.connections = connections;
        this.mailbox = mailbox;
        this.names = names;
        this.queue = new WaitersQueue(connections, probes, mailbox, names, this::received);
    }

    /**
     * A message about a slot that was freed.
     *
     * @param slot the slot
     * @param hops how many clients could not use the message so far
     */
    record Offer(int slot, int hops) {}

    /** Says whether callers of this client wait. */
    void waiting(boolean isSo) {
        waiting = isSo;
    }

    /**
     * Whether it is time to ask the broker for waiting callers. In a crowd most of the looks that no message asks for are left out: one
     * costs several requests, and finds mostly a slot that is on its way to another client. Then it puts the look off.
     */
    boolean mayLook() {
        long now = System.nanoTime();
        if (!offers.isEmpty()) {
            return true;
        }
        if (!turnOfOthers.isPast(now) || !(surely || nextLook.isPast(now))) {
            return false;
        }
        int crowd = queue.others();
        if (surely
                || postponed
                || !queue.isOpen()
                || crowd < MANY
                || ThreadLocalRandom.current().nextInt(crowd) < ENOUGH) {
            return true;
        }
        refused(false);
        return false;
    }

    /** When it is time at the latest. */
    Deadline nextLook() {
        return surely || nextLook.isBefore(turnOfOthers) ? turnOfOthers : nextLook;
    }

    /**
     * A look for callers that wait begins. What asks for another one from now on is not answered by it.
     *
     * @param offered how many slots were offered to them
     * @return with how many of these they are content; 0 if they look at all slots. Or one slot that goes round among the callers of
     *     this client would keep them from all others. In a crowd there are always clients to which nothing is offered.
     */
    int lookBegins(int offered) {
        long now = System.nanoTime();
        boolean all = surely || offered == 0 || (nextLookAtAll.isPast(now) && !areMany());
        surely = false;
        if (all) {
            nextLookAtAll = Deadline.after(now, ALL);
        }
        return all ? 0 : offered;
    }

    /** It failed: it is made again, and the slots of these messages are for others meanwhile. */
    void lookFailed(List<Offer> taken) {
        lookSurely();
        taken.forEach(this::passOn);
    }

    /** Takes the slots that this client was notified of. */
    List<Offer> takeOffers() {
        List<Offer> taken = new ArrayList<>();
        for (Offer offer = offers.poll(); offer != null; offer = offers.poll()) {
            taken.add(offer);
        }
        return taken;
    }

    /** Callers that wait were refused after a look: the next one follows an offer, or comes a while later. */
    void refused(boolean asPostponed) {
        postponed = asPostponed;
        // A binding may be missing although offers arrive.
        mailbox.keepOpen();
        boolean listening = queue.isOpen();
        if (!listening) {
            queue.renew();
        }
        boolean farBack = listening && !asPostponed && areMany();
        long longest = asPostponed ? POSTPONED_NANOS : listening ? RECHECK_NANOS : DEAF_RECHECK_NANOS;
        if (farBack) {
            longest *= Math.min(MOST_SELDOM, Math.max(MORE_SELDOM, queue.others() / MANY));
        }
        nextLook = Deadline.at(
                System.nanoTime() + longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2));
        if (farBack || ThreadLocalRandom.current().nextInt(MANY) == 0) {
            // Others may have come or gone since.
            connections.executeIfPossible(this::countOthers);
        }
    }

    /** Others were faster with a slot that looked free. */
    void missed() {
        if (!areMany()) {
            connections.executeIfPossible(this::countOthers);
        }
    }

    private void countOthers() {
        boolean were = areMany();
        queue.count();
        if (were && !areMany()) {
            // Nobody else may look soon.
            lookNow();
        }
    }

    /** How many other clients wait, as far as is known. */
    int others() {
        return queue.isOpen() ? queue.others() : 0;
    }

    /** Whether so many others wait that this client leaves most free slots to them. */
    boolean areMany() {
        return queue.others() >= MANY;
    }

    /** Something changed of which no message tells more. */
    void lookNow() {
        lookSurely();
        hint.run();
    }

    private void lookSurely() {
        surely = true;
        nextLook = Deadline.at(System.nanoTime());
    }

    /**
     * Slots were given back: offers each to a client that waits, and leaves others a turn if they wait.
     *
     * @return whether others may be waiting
     */
    boolean released(Collection<Integer> slots) {
        if (slots.isEmpty()) {
            return false;
        }
        // That of the release before: whether this one's comes back is not known yet.
        boolean others = unreturned;
        unreturned = true;
        boolean sent = false;
        for (int slot : slots) {
            sent |= mailbox.offer(names, new Offer(slot, 0));
        }
        if (!sent) {
            // Nothing can come back.
            unreturned = false;
        }
        if (others) {
            turnOfOthers = Deadline.after(System.nanoTime(), TURN);
            if (waiting && queue.isOpen()) {
                refused(false);
            }
        }
        return others;
    }

    /** The message of a release came back. */
    void nobodyWaits() {
        unreturned = false;
        turnOfOthers = Deadline.at(System.nanoTime());
    }

    /** A slot that this client cannot use is for another one. */
    void passOn(Offer offer) {
        // What the last look showed is not so any more.
        nextLook = Deadline.at(System.nanoTime());
        if (offer.hops == MOST_HOPS || !mailbox.offer(names, new Offer(offer.slot, offer.hops + 1))) {
            surely = true;
        }
    }

    private void received(Delivery message) {
        Offer offer = mailbox.offerIn(message, names);
        if (offer == null) {
            return;
        }
        if (offer.hops > 0 && mailbox.isOwn(message)) {
            // Whoever else waited would have had it first.
            nobodyWaits();
            hint.run();
        }
        if (!waiting) {
            passOn(offer);
            return;
        }
        offers.add(offer);
        hint.run();
        connections.later(
                () -> {
                    if (offers.remove(offer)) {
                        passOn(offer);
                    }
                },
                UNUSED);
    }

    /** Becomes a consumer, until closed. Gives a hint when it is one, should that take longer than the budget has time. */
    BackendSession.Watch watch(Runnable whenNotified, CallBudget budget) {
        hint = whenNotified;
        waiting = true;
        // Opened again if it was lost: without it this client could pass nothing on.
        CompletableFuture<?> listening = mailbox.listen(names.encoded());
        CompletableFuture<?> opening = queue.subscribe();
        Deadline patience = budget.patience(Mailbox.PATIENCE);
        Mailbox.await(opening, patience);
        Mailbox.await(listening, patience);
        // What was freed until now was offered to others.
        lookSurely();
        if (!opening.isDone()) {
            CompletableFuture<?> unused = opening.thenRun(this::lookNow);
        }
        return () -> {
            waiting = false;
            hint = () -> {};
            lookSurely();
            takeOffers().forEach(this::passOn);
            queue.unsubscribe();
        };
    }
}
