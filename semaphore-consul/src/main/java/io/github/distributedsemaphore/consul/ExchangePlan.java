package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One way to serve a request on what was seen: which slots to give to whom, and the transaction that does it if nothing has
 * changed since. No I/O.
 */
final class ExchangePlan {
    /** How many epochs belong to one index of the server, which is below 2^53 for any cluster's life. */
    static final long EPOCHS = 1024;

    private final PrefixView view;
    private final Map<Hold, SlotSession> releases;

    /** Sessions of this client that hold nothing and are listed all the same. */
    private final Set<String> unused;

    private final int epochs;
    private final String nonce = Long.toHexString(ThreadLocalRandom.current().nextLong());

    /** Once for all attempts: an entry whose value changes gets another index, and with that an epoch that is not the hold's. */
    private final Instant since = Instant.now();

    /** What becomes of each caller: how many slots it gets, or its answer. */
    private final List<Object> verdicts = new ArrayList<>();

    private final List<Integer> slots = new ArrayList<>();
    private final List<Contender> kept = new ArrayList<>();
    private List<SlotSession> takers = List.of();
    private final Set<String> ended = new HashSet<>();
    private @Nullable SlotSession place;
    private int wantedInVain;
    private int grantedToWaiting;
    private boolean refusesForGood;
    private boolean othersWait;

    private ExchangePlan(PrefixView view, Map<Hold, SlotSession> releases, Set<String> unused, int epochs) {
        this.view = view;
        this.releases = releases;
        this.unused = unused.stream().filter(view::isListed).collect(Collectors.toSet());
        this.epochs = (int) Math.min(epochs, EPOCHS);
    }

    /**
     * Plans.
     *
     * @param unused sessions of this client that hold nothing. If one is listed, as after a restore or a request that something between
     *     has repeated, it is taken out
     * @param row the other clients that wait; callers that try once do not care for them
     */
    static ExchangePlan of(
            PrefixView view,
            ExchangeRequest request,
            Map<Hold, SlotSession> releases,
            Set<String> unused,
            WaitingOrder.Row row) {
        ExchangePlan plan = new ExchangePlan(view, releases, unused, request.epochs());
        plan.othersWait = !row.equals(WaitingOrder.Row.NOBODY);
        Set<String> leaving = plan.leaving();
        BitSet taken = view.takenSlots(leaving);
        int free = view.limitsAgree() ? view.free(leaving) : 0;
        List<Contender> first = row.before();
        for (int i = 0; i < request.wants().size(); i++) {
            int wanted = request.wants().get(i);
            boolean waits = request.waits(i);
            if (waits) {
                free = plan.keep(first, free);
                first = List.of();
            }
            if (!view.exists()) {
                plan.verdicts.add(Answer.MISSING);
            } else if (wanted > view.limit()) {
                plan.verdicts.add(new Answer.ExceedsLimit(view.limit()));
            } else if (wanted > free) {
                plan.refuse(wanted, waits);
            } else {
                free -= wanted;
                plan.takeLowest(wanted, taken);
                if (waits && plan.grantedToWaiting++ == 0) {
                    // One caller a turn, as long as another client waits.
                    free = plan.keep(row.behind(), free);
                }
            }
        }
        return plan;
    }

    /** Leaves free slots to clients that wait, to each what it wants; returns what is left. */
    private int keep(List<Contender> clients, int free) {
        int left = free;
        for (Contender client : clients) {
            if (client.waiting() <= left) {
                left -= client.waiting();
                kept.add(client);
            }
        }
        return left;
    }

    private void refuse(int wanted, boolean waits) {
        verdicts.add(Answer.FULL);
        if (!waits) {
            refusesForGood = true;
        } else if (wantedInVain == 0) {
            wantedInVain = wanted;
        }
    }

    private void takeLowest(int wanted, BitSet taken) {
        verdicts.add(wanted);
        for (int i = 0; i < wanted; i++) {
            int slot = taken.nextClearBit(1);
            taken.set(slot);
            slots.add(slot);
        }
    }

    private Set<String> leaving() {
        Set<String> ids = new HashSet<>(unused);
        releases.values().forEach(session -> ids.add(session.id()));
        return ids;
    }

    PrefixView view() {
        return view;
    }

    Map<Hold, SlotSession> releases() {
        return releases;
    }

    /** Those of the releases that are lost unless an earlier plan gave them back: somebody has taken them out of the list. */
    Set<Hold> missing() {
        return releases.entrySet().stream()
                .filter(release -> !view.isListed(release.getValue().id()))
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    /** Whether a caller is refused that does not go on waiting. */
    boolean refusesForGood() {
        return refusesForGood
                || verdicts.stream().anyMatch(verdict -> verdict instanceof Answer && verdict != Answer.FULL);
    }

    /** What the first of the callers wants that go on waiting; 0 if there is none. */
    int wantedInVain() {
        return wantedInVain;
    }

    /** Whether a caller that waits is served. */
    boolean servesWaiting() {
        return grantedToWaiting > 0;
    }

    /** Whether other clients wait. */
    boolean othersWait() {
        return othersWait;
    }

    /** The clients for which slots are left free. */
    List<Contender> kept() {
        return kept;
    }

    /** The session that gets this client's place among those that wait; null if the transaction makes none. */
    @Nullable
    SlotSession place() {
        return place;
    }

    void keepPlace(@Nullable SlotSession session) {
        place = session;
    }

    /** Whether there is nothing to write. */
    boolean isEmpty() {
        return slots.isEmpty() && leaving().stream().noneMatch(view::isListed);
    }

    int takersNeeded() {
        return slots.size();
    }

    List<SlotSession> takers() {
        return takers;
    }

    /** Those that may still take a slot by this plan. */
    List<SlotSession> mayTake() {
        return takers.stream().filter(taker -> !ended.contains(taker.id())).toList();
    }

    /** These sessions have ended. */
    void ended(Set<String> ids) {
        ended.addAll(ids);
    }

    void assign(List<SlotSession> sessions) {
        takers = sessions;
    }

    /** What {@code .lock} is to be: the holders that are alive, without those that leave and with those that come. */
    LockBody newLock() {
        Set<String> holders = view.liveHolders();
        holders.removeAll(leaving());
        takers.forEach(session -> holders.add(session.id()));
        LockBody lock = view.lock();
        boolean ours = view.exists() && view.limitsAgree();
        int limit = ours || lock == null ? view.limit() : lock.limit();
        return new LockBody(limit, holders, nonce, lock != null && lock.destroyed() && !view.exists());
    }

    /**
     * The contender entries that do not fit into the last transaction; without it they mean nothing. After it they do nothing, for it
     * changes the key that they check.
     */
    List<Transaction> preparations(HolderInfo self) {
        List<Transaction> preparations = new ArrayList<>();
        int last = Math.max(0, takers.size() - (Transaction.MAX_OPERATIONS - 3));
        int most = Transaction.MAX_OPERATIONS - 1;
        for (int i = 0; i < last; i += most) {
            Transaction entries = entries(new Transaction(), i, Math.min(last, i + most), self);
            preparations.add(entries.check(view.key(KeyNames.LOCK), view.lockIndex()));
        }
        return preparations;
    }

    /** The transaction that decides. */
    Transaction transaction(HolderInfo self) {
        int first = Math.max(0, takers.size() - (Transaction.MAX_OPERATIONS - 3));
        Transaction transaction = entries(new Transaction(), first, takers.size(), self);
        if (view.exists() && !takers.isEmpty()) {
            transaction.check(view.key(KeyNames.LIMIT), view.limitIndex());
        }
        if (place != null) {
            transaction.lock(view.key(place.id()), place.id(), Contender.waitingValue(wantedInVain));
        }
        LockBody lock = newLock();
        return lock.destroyed() && lock.holders().isEmpty()
                ? transaction.delete(view.key(KeyNames.LOCK), view.lockIndex())
                : transaction.cas(view.key(KeyNames.LOCK), view.lockIndex(), lock.toJson());
    }

    private Transaction entries(Transaction transaction, int from, int to, HolderInfo self) {
        for (int i = from; i < to; i++) {
            String session = takers.get(i).id();
            transaction.lock(view.key(session), session, Contender.value(slots.get(i), nonce, self, since));
        }
        return transaction;
    }

    /** Whether a later view shows that the transaction was done. */
    boolean isDoneIn(PrefixView later) {
        if (!takers.isEmpty()) {
            return takers.stream().allMatch(taker -> {
                Contender entry = later.contenders().get(taker.id());
                return entry != null && entry.nonce().equals(nonce) && later.isHolder(taker.id());
            });
        }
        return leaving().stream().noneMatch(later::isListed);
    }

    /** Whether a later view shows that the transaction cannot be done any more. */
    boolean isOutdatedBy(PrefixView later) {
        // There need not be a coordination key: then only the semaphore's own key shows that it was destroyed.
        return later.lockIndex() != view.lockIndex() || (!takers.isEmpty() && later.limitIndex() != view.limitIndex());
    }

    /** The view after the transaction. */
    PrefixView viewAfter(Map<String, Long> byKey) {
        Map<String, Contender> entries = new HashMap<>();
        for (int i = 0; i < takers.size(); i++) {
            String id = takers.get(i).id();
            Long index = byKey.get(view.key(id));
            if (index != null) {
                entries.put(id, new Contender(id, index, slots.get(i), nonce, null, "", 0));
            }
        }
        if (place != null) {
            long index = byKey.getOrDefault(view.key(place.id()), 0L);
            entries.put(place.id(), Contender.waiting(place.id(), index, wantedInVain));
        }
        Long lockIndex = byKey.get(view.key(KeyNames.LOCK));
        return view.after(newLock(), lockIndex == null ? 0 : lockIndex, entries);
    }

    /** What is held after the transaction, as a view after it shows: by session, in the order of the answers. */
    Map<SlotSession, Hold> holds(PrefixView after) {
        Map<SlotSession, Hold> holds = new LinkedHashMap<>();
        for (int i = 0; i < takers.size(); i++) {
            String id = takers.get(i).id();
            Contender entry = after.contenders().get(id);
            // An entry that the session had for an earlier slot has a lower index.
            if (entry == null || !entry.nonce().equals(nonce)) {
                throw new IllegalStateException("no index for session " + id);
            }
            long first = entry.modifyIndex() * EPOCHS;
            holds.put(takers.get(i), new Hold(slots.get(i), first, first + epochs - 1));
        }
        return holds;
    }

    /** The answers, where each caller who gets slots gets the next of these holds. */
    List<Answer> answers(List<Hold> holds) {
        List<Answer> answers = new ArrayList<>();
        int next = 0;
        for (Object verdict : verdicts) {
            if (verdict instanceof Integer granted) {
                int end = next + granted;
                answers.add(new Answer.Granted(holds.subList(next, end)));
                next = end;
            } else {
                answers.add((Answer) verdict);
            }
        }
        return answers;
    }
}
