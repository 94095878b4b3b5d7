package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What one session holds, what it owes and what it was offered: the only place where that is kept.
 *
 * <p>For the thread that does an exchange, but for {@link #holds}, {@link #holdOf}, {@link #remove}, {@link #offer}, {@link #called}
 * and {@link #owesAnything}, which any thread may call.
 */
final class Ledger {
    private static final int REMEMBERED = 16;

    /**
     * A message to a client that waits: a slot was moved into its set. On the wire {@code client slot first last}; any other text is
     * a hint that something may be free.
     *
     * @param client to whom it was given; a session that goes on under another name does not have it
     * @param hold the slot with its epochs
     * @param nanos when the message came
     */
    record Offer(String client, Hold hold, long nanos) {
        /** Something may be free. */
        static final String HINT = "0";

        private static final int PARTS = 4;

        Offer(String client, Hold hold) {
            this(client, hold, System.nanoTime());
        }

        /** Returns null for a hint. */
        static @Nullable Offer parse(String message) {
            String[] parts = message.split(" ", -1);
            if (parts.length != PARTS) {
                return null;
            }
            long slot = Reply.digits(parts[1]);
            long first = Reply.digits(parts[2]);
            long last = Reply.digits(parts[3]);
            boolean valid = slot >= 1 && slot <= Control.MAX_LIMIT && first >= 0 && last >= first;
            return valid ? new Offer(parts[0], new Hold((int) slot, first, last)) : null;
        }

        @Override
        public String toString() {
            return client + " " + hold.slot() + " " + hold.epoch() + " " + hold.lastEpoch();
        }
    }

    /** Slot to the hold of it. */
    private final Map<Integer, Hold> holds = new ConcurrentHashMap<>();

    /** Holds whose slots the last look at this session's set did not find there. */
    private Set<Hold> unseen = Set.of();

    /** Slots of exchanges that failed half-way, which no caller knows of; they go back with the next, or after a renewal. */
    private final Queue<Hold> strays = new ConcurrentLinkedQueue<>();

    /** Given back by exchanges that failed after that: their callers do not know it yet, and ask for it again. */
    private final Set<Hold> returned = new HashSet<>();

    /** What was moved into this session's set by others, by their messages. */
    private final Queue<Offer> offers = new ConcurrentLinkedQueue<>();

    /**
     * Slot to the last epoch that this session has seen of it. Epochs of a slot rise, so an offer of an earlier epoch is one that
     * was taken up already: a look at the set may find a slot before its message comes.
     */
    private final Map<Integer, Long> lastEpochs = new HashMap<>();

    private volatile boolean listening;

    /** Whether this session heard that something may be free, and has told no other of it. */
    private volatile boolean called;

    /** Whether something was found to be lost outside of an exchange. */
    private volatile boolean suspicious;

    /** The slots that this session gave back last. */
    private final Deque<Integer> recent = new ArrayDeque<>();

    /** The holds, those among them that are owed. */
    Collection<Hold> holds() {
        return holds.values();
    }

    @Nullable
    Hold holdOf(int slot) {
        return holds.get(slot);
    }

    /**
     * All of this session's set was read.
     *
     * @param slots what is in it
     */
    void seen(Set<Integer> slots) {
        unseen = holds.values().stream()
                .filter(hold -> !slots.contains(hold.slot()))
                .collect(Collectors.toSet());
    }

    /** Whether this hold may be handed over. That publishes it whether the slot is there or not, and nothing can make it depend on that. */
    boolean mayHand(Hold hold) {
        return !unseen.contains(hold);
    }

    boolean has(Hold hold) {
        return hold.equals(holds.get(hold.slot()));
    }

    /** This hold is this session's from now on. Returns the one that it had of the slot before, which is lost. */
    @Nullable
    Hold add(Hold hold) {
        lastEpochs.merge(hold.slot(), hold.lastEpoch(), Math::max);
        return holds.put(hold.slot(), hold);
    }

    /** This hold is not this session's any more. */
    void remove(Hold hold) {
        holds.remove(hold.slot(), hold);
    }

    /** This hold was found to be lost: the next exchange looks what else is. */
    void lost(Hold hold) {
        remove(hold);
        suspicious = true;
    }

    boolean takeSuspicion() {
        boolean found = suspicious;
        suspicious = false;
        return found;
    }

    /** Keeps for the next exchange what no caller knows of. */
    void owe(Collection<Hold> taken) {
        taken.stream().filter(this::has).forEach(strays::add);
    }

    boolean owesAnything() {
        return !strays.isEmpty();
    }

    List<Hold> takeOwed() {
        if (strays.isEmpty()) {
            return List.of();
        }
        List<Hold> owed = strays.stream().filter(this::has).toList();
        strays.clear();
        return owed;
    }

    /** An exchange failed after these were given back. */
    void returned(Collection<Hold> given) {
        returned.addAll(given);
    }

    /** Which of these an earlier exchange gave back; forgets them. */
    Set<Hold> takeReturned(Collection<Hold> asked) {
        if (returned.isEmpty()) {
            return Set.of();
        }
        Set<Hold> done = new HashSet<>(returned);
        done.retainAll(asked);
        returned.removeAll(done);
        return done;
    }

    /** The session hears of what it is given, from now on until it ends. */
    void listens() {
        listening = true;
    }

    boolean isListening() {
        return listening;
    }

    /** Another client has said that something may be free. */
    void called() {
        called = true;
    }

    /** Whether one has said so since this was asked last. */
    boolean takeCall() {
        boolean heard = called;
        called = false;
        return heard;
    }

    /** Another client has moved a slot into this session's set. */
    void offer(Offer offer) {
        offers.add(offer);
    }

    boolean hasOffers() {
        return !offers.isEmpty();
    }

    /** When the first message of the present offers came; now, if there is none. */
    long offeredSince() {
        Offer first = offers.peek();
        return first == null ? System.nanoTime() : first.nanos();
    }

    /**
     * Takes up what was offered.
     *
     * @param client the name of this session
     * @param over is given each hold that this session had of an offered slot, and that must be over
     */
    List<Hold> takeOffers(String client, Consumer<Hold> over) {
        if (offers.isEmpty()) {
            return List.of();
        }
        List<Hold> taken = new ArrayList<>();
        for (Offer offer = offers.poll(); offer != null; offer = offers.poll()) {
            Hold hold = offer.hold();
            if (offer.client().equals(client) && hold.epoch() > lastEpochs.getOrDefault(hold.slot(), -1L)) {
                Hold former = add(hold);
                if (former != null) {
                    over.accept(former);
                }
                taken.add(hold);
            }
        }
        return taken;
    }

    /** The last epoch that this session has seen of a slot; -1 if none. */
    long lastEpoch(int slot) {
        return lastEpochs.getOrDefault(slot, -1L);
    }

    /** This session gave the slot back. */
    void freed(int slot) {
        recent.removeFirstOccurrence(slot);
        recent.addFirst(slot);
        if (recent.size() > REMEMBERED) {
            recent.removeLast();
        }
    }

    /** The slots that this session gave back last, the latest first. */
    Collection<Integer> recent() {
        return recent;
    }

    /** This session was given up for dead, and holds nothing. Returns what it held. */
    Set<Hold> loseAll() {
        Set<Hold> lost = new HashSet<>(holds.values());
        holds.clear();
        strays.clear();
        returned.clear();
        offers.clear();
        return lost;
    }
}
