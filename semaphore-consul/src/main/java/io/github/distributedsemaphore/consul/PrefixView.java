package io.github.distributedsemaphore.consul;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What is stored below the prefix of a semaphore at an instant. Immutable.
 *
 * @param prefix the key prefix, without a slash at its end
 * @param limit the number of slots by our own key; 0 if the semaphore does not exist
 * @param limitIndex the index of that key's last change; 0 if it is missing
 * @param lock the coordination key's body; null if it is missing or empty
 * @param lockIndex the index of that key's last change; 0 if it is missing
 * @param contenders the live contenders by session id
 */
record PrefixView(
        String prefix,
        int limit,
        long limitIndex,
        @Nullable LockBody lock,
        long lockIndex,
        Map<String, Contender> contenders) {

    PrefixView {
        contenders = Map.copyOf(contenders);
    }

    String key(String last) {
        return prefix + "/" + last;
    }

    /** Whether a semaphore was created here. */
    boolean exists() {
        return limitIndex != 0;
    }

    /** Whether the official limit, which others go by, is ours. */
    boolean limitsAgree() {
        return lock == null || lock.limit() == limit || lock.destroyed();
    }

    /** Refuses two limits: the official client made the key with another one while it was missing. */
    void requireOneLimit() {
        if (exists() && lock != null && !limitsAgree()) {
            throw new IncompatibleStateException(
                    "Key " + key(KeyNames.LOCK) + " holds limit " + lock.limit() + ", expected " + limit + " as in "
                            + key(KeyNames.LIMIT)
                            + ". Nothing was changed: use the same number everywhere (consul lock -n "
                            + limit + "), or resize the semaphore",
                    null);
        }
    }

    /** Whether a session holds the slot of this grant. After a restore its entry may be that of an earlier grant. */
    boolean isHeld(Hold hold, String session) {
        Contender entry = contenders.get(session);
        return entry != null && isListed(session) && entry.modifyIndex() * ExchangePlan.EPOCHS == hold.epoch();
    }

    boolean isHolder(String session) {
        return isListed(session) && contenders.containsKey(session);
    }

    /** The holders whose sessions are alive. */
    Set<String> liveHolders() {
        Set<String> live = new HashSet<>();
        if (lock != null) {
            lock.holders().stream().filter(contenders::containsKey).forEach(live::add);
        }
        return live;
    }

    /** The slots that are taken by our clients, but for some sessions. */
    BitSet takenSlots(Set<String> except) {
        BitSet taken = new BitSet();
        for (Contender holder : holders(except)) {
            taken.set(holder.slot());
        }
        taken.clear(0);
        return taken;
    }

    /** How many slots can be taken: holders of the official client occupy one each, without a number. */
    int free(Set<String> except) {
        long inLimit = takenSlots(except).stream().filter(slot -> slot <= limit).count();
        long foreign =
                holders(except).stream().filter(holder -> holder.slot() == 0).count();
        return (int) Math.max(0, limit - inLimit - foreign);
    }

    /**
     * How many hold a slot that was removed. The official client's holders have no number, so as many of them as are too many do; where
     * there is no semaphore that is everybody.
     */
    int retired() {
        Set<Contender> all = holders(Set.of());
        int above = (int) all.stream().filter(holder -> holder.slot() > limit).count();
        return above + Math.max(0, all.size() - above - limit);
    }

    Set<Contender> holders(Set<String> except) {
        return contenders.values().stream()
                .filter(contender -> isListed(contender.session()) && !except.contains(contender.session()))
                .collect(Collectors.toSet());
    }

    /**
     * This view with the clients that wait in an earlier state of the key that was seen later. What counts for the slots stays as it is:
     * the holders and their entries.
     *
     * @param own this client's sessions, whose newer entries stay
     */
    PrefixView withWaitingOf(PrefixView seen, Set<String> own) {
        Map<String, Contender> merged = new HashMap<>(seen.contenders);
        merged.keySet().removeIf(this::isListed);
        contenders.forEach((session, entry) -> {
            if (isListed(session) || own.contains(session)) {
                merged.merge(session, entry, (a, b) -> a.modifyIndex() > b.modifyIndex() ? a : b);
            }
        });
        return new PrefixView(prefix, limit, limitIndex, lock, lockIndex, merged);
    }

    /** Whether the coordination key names this session; it may have ended. */
    boolean isListed(String session) {
        return lock != null && lock.holders().contains(session);
    }

    /** The view after a write of ours. */
    PrefixView after(LockBody newLock, long newIndex, Map<String, Contender> written) {
        Map<String, Contender> newContenders = new HashMap<>(contenders);
        newContenders.putAll(written);
        return new PrefixView(prefix, limit, limitIndex, newLock, newIndex, newContenders);
    }

    /**
     * A contender entry: the key named after a live session and locked by it. In its value, which the official client leaves
     * alone, our clients keep the slot and who they are, or that they wait. Whether the slot counts is decided by {@code .lock} only.
     *
     * @param session the session id
     * @param modifyIndex when the entry was written last; our epochs come from it
     * @param slot the slot that was taken last; 0 if the entry is not one of our clients' or took none yet
     * @param nonce of the transaction that took it
     * @param holder the process that contends; null if not known
     * @param since when, by that host's wall clock, as text; empty if not known
     * @param waiting for how many permits it waits unless it holds a slot; 0 if it does not wait. A client that is not ours waits for one
     */
    record Contender(
            String session,
            long modifyIndex,
            int slot,
            String nonce,
            @Nullable HolderInfo holder,
            String since,
            int waiting) {

        /** The value of an entry that holds a slot. */
        static String value(int slot, String nonce, HolderInfo holder, Instant since) {
            JsonObject value = new JsonObject();
            value.addProperty("Slot", slot);
            value.addProperty("Nonce", nonce);
            value.addProperty("Host", holder.host());
            value.addProperty("Pid", holder.pid());
            value.addProperty("Label", holder.label());
            value.addProperty("Since", since.toString());
            return value.toString();
        }

        /** Since when the slot is held, by that host's wall clock; null if that is not known. Parsed only for those who ask. */
        @Nullable
        Instant heldSince() {
            try {
                return since.isEmpty() ? null : Instant.parse(since);
            } catch (DateTimeException e) {
                return null;
            }
        }

        /** The value of an entry that waits. */
        static String waitingValue(int permits) {
            JsonObject value = new JsonObject();
            value.addProperty("Waiting", permits);
            return value.toString();
        }

        static Contender parse(String session, long modifyIndex, String value) {
            try {
                if (value.startsWith("{")) {
                    JsonObject object = Json.parse(value).getAsJsonObject();
                    Integer waiting = Json.positive(object.get("Waiting"));
                    if (waiting != null) {
                        return waiting(session, modifyIndex, waiting);
                    }
                    Integer slot = Json.positive(object.get("Slot"));
                    HolderInfo holder = new HolderInfo(
                            Json.text(object, "Host"), Json.number(object, "Pid"), Json.text(object, "Label"));
                    return new Contender(
                            session,
                            modifyIndex,
                            slot == null ? 0 : slot,
                            Json.text(object, "Nonce"),
                            holder,
                            Json.text(object, "Since"),
                            0);
                }
            } catch (JsonParseException
                    | IllegalStateException
                    | IllegalArgumentException
                    | UnsupportedOperationException e) {
                // Somebody else's.
            }
            return waiting(session, modifyIndex, 1);
        }

        static Contender waiting(String session, long modifyIndex, int permits) {
            return new Contender(session, modifyIndex, 0, "", null, "", permits);
        }
    }
}
