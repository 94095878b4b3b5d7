package io.github.distributedsemaphore.consul;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Creates and changes semaphores. One exists if our own key with its limit does: {@code .lock} comes and goes with the
 * official client. What changes the limit changes {@code .lock} in the same transaction, so that nobody takes a slot on what
 * was seen before.
 */
final class ConsulAdmin implements BackendAdmin {
    private final ConsulHttp http;
    private final ConsulSettings settings;
    private final DestroyedLocks destroyed;

    ConsulAdmin(ConsulHttp http, ConsulSettings settings, DestroyedLocks destroyed) {
        this.http = http;
        this.settings = settings;
        this.destroyed = destroyed;
    }

    private PrefixReader reader(String name) {
        return new PrefixReader(http, KeyNames.prefixOf(settings.prefix(), name), settings.subject(name));
    }

    /**
     * What to do on what was seen.
     *
     * @param transaction does it; null if there is nothing to do
     * @param answer what to tell when it is done
     */
    private record Change<T>(@Nullable Transaction transaction, T answer) {}

    /** Reads, decides and writes until nobody came between. */
    private <T> T change(String name, Function<PrefixView, Change<T>> decide) {
        Attempts attempts = new Attempts(http.end());
        try (InterruptShield shield = new InterruptShield()) {
            while (true) {
                Change<T> change = decide.apply(reader(name).read(attempts.end()));
                Transaction transaction = change.transaction();
                if (transaction == null) {
                    return change.answer();
                }
                Transaction.Outcome outcome = transaction.send(http, attempts.end());
                switch (outcome.status()) {
                    case OK -> {
                        return change.answer();
                    }
                    case CONFLICT -> {
                        if (!attempts.goesOn()) {
                            throw new BackendUnavailableException(
                                    settings.subject(name) + ": nothing was done, for others changed it all the time",
                                    null);
                        }
                        attempts.backOff(shield);
                    }
                    default -> throw outcome.failure(settings.subject(name));
                }
            }
        }
    }

    private static String nonce() {
        return Long.toHexString(ThreadLocalRandom.current().nextLong());
    }

    private static String limitBody(int limit) {
        JsonObject body = new JsonObject();
        body.addProperty("Limit", limit);
        body.addProperty("Nonce", nonce());
        return body.toString();
    }

    @Override
    public boolean create(String name, int limit) {
        return change(name, view -> {
            LockBody lock = view.lock();
            int found = view.exists() ? view.limit() : limit;
            if (!view.exists() && lock != null && !lock.destroyed()) {
                found = lock.limit();
            }
            if (found != limit) {
                throw new LimitConflictException(name, found, limit);
            }
            return new Change<>(view.exists() ? null : write(view, limit), !view.exists());
        });
    }

    /** Writes both limits; holders stay. */
    private static Transaction write(PrefixView view, int limit) {
        LockBody body = new LockBody(limit, view.liveHolders(), nonce(), false);
        return new Transaction()
                .cas(view.key(KeyNames.LIMIT), view.limitIndex(), limitBody(limit))
                .cas(view.key(KeyNames.LOCK), view.lockIndex(), body.toJson());
    }

    @Override
    public void resize(String name, int limit) {
        change(name, view -> {
            LockBody lock = view.lock();
            // What create calls a conflict is taken over, as ensure promises: an official client may have left its key.
            if (!view.exists() && (lock == null || lock.destroyed())) {
                throw new NoSuchSemaphoreException(settings.subject(name) + " does not exist: create it");
            }
            return new Change<>(write(view, limit), limit);
        });
    }

    @Override
    public boolean destroy(String name) {
        AtomicBoolean held = new AtomicBoolean();
        boolean done = change(name, view -> {
            if (!view.exists()) {
                // An earlier call may have done it without knowing that.
                held.set(DestroyedLocks.isDestroyed(view) && !DestroyedLocks.isDeserted(view));
                return new Change<>(null, false);
            }
            Transaction transaction = new Transaction()
                    .check(view.key(KeyNames.LIMIT), view.limitIndex())
                    .delete(view.key(KeyNames.LIMIT), view.limitIndex());
            Set<String> holders = view.liveHolders();
            held.set(!holders.isEmpty());
            if (!holders.isEmpty()) {
                LockBody body = new LockBody(view.limit(), holders, nonce(), true);
                transaction.cas(view.key(KeyNames.LOCK), view.lockIndex(), body.toJson());
            } else if (view.lockIndex() != 0) {
                transaction.delete(view.key(KeyNames.LOCK), view.lockIndex());
            } else {
                // If a grant makes the key at this moment, the transaction fails. Otherwise nobody would delete that
                // key.
                LockBody none = new LockBody(view.limit(), Set.of(), nonce(), true);
                transaction.cas(view.key(KeyNames.LOCK), 0, none.toJson()).delete(view.key(KeyNames.LOCK));
            }
            return new Change<>(transaction, true);
        });
        if (held.get()) {
            destroyed.watch(reader(name));
        }
        return done;
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        Deadline end = http.end();
        PrefixView view = reader(name).read(end);
        if (!view.exists()) {
            DestroyedLocks.clear(view, http, end);
            return Optional.empty();
        }
        view.requireOneLimit();
        List<Holder> holders = new ArrayList<>();
        for (Contender contender : view.holders(Set.of())) {
            holders.add(holder(contender, view.limit()));
        }
        holders.sort(Comparator.comparingInt(Holder::slot).thenComparingLong(Holder::epoch));
        return Optional.of(new SemaphoreDescription(name, view.limit(), view.free(Set.of()), holders));
    }

    private static Holder holder(Contender contender, int limit) {
        HolderInfo info = contender.holder();
        return new Holder(
                contender.slot(),
                contender.slot() == 0 ? 0 : contender.modifyIndex() * ExchangePlan.EPOCHS,
                info == null ? "" : info.host(),
                info == null ? 0 : info.pid(),
                info == null ? "" : info.label(),
                contender.heldSince(),
                contender.slot() > limit ? HolderState.RETIRED : HolderState.HELD);
    }

    @Override
    public List<String> names() {
        String root = settings.prefix().isEmpty() ? "" : settings.prefix() + "/";
        String subject = "Semaphores in Consul at " + settings;
        Deadline end = http.end();
        try {
            ConsulHttp.Reply reply = http.get(end, "/v1/kv/" + root, "keys", "consistent");
            if (reply.status() == 404) {
                // Without rights the listing is empty as well; a single key tells.
                reply = http.get(end, "/v1/kv/" + root + KeyNames.LIMIT, "consistent");
                if (reply.isOk() || reply.status() == 404) {
                    return List.of();
                }
            }
            if (!reply.isOk()) {
                throw reply.refused(subject);
            }
            TreeSet<String> names = new TreeSet<>();
            for (JsonElement key : Json.parse(reply.body()).getAsJsonArray()) {
                nameOf(key.getAsString(), root).ifPresent(names::add);
            }
            return List.copyOf(names);
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException e) {
            throw new BackendUnavailableException(subject + ": the answer is not Consul's: " + e.getMessage(), e);
        }
    }

    private static Optional<String> nameOf(String key, String root) {
        String end = "/" + KeyNames.LIMIT;
        if (!key.startsWith(root) || !key.endsWith(end) || key.length() <= root.length() + end.length()) {
            return Optional.empty();
        }
        try {
            return Optional.of(KeyNames.decode(key.substring(root.length(), key.length() - end.length())));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    @Override
    public int retiredHolders(String name) {
        return reader(name).read(http.end()).retired();
    }

    /** See {@link io.github.distributedsemaphore.spi.SemaphoreBackend#ping}: reads one key that hardly exists, with the token. */
    void ping() {
        String prefix = KeyNames.prefixOf(settings.prefix(), "ping");
        boolean unused = new PrefixReader(http, prefix, "Consul at " + settings).exists(http.end());
    }
}
