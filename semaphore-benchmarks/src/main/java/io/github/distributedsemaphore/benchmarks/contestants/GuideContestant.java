package io.github.distributedsemaphore.benchmarks.contestants;

import com.ecwid.consul.v1.ConsulClient;
import com.ecwid.consul.v1.QueryParams;
import com.ecwid.consul.v1.Response;
import com.ecwid.consul.v1.kv.model.GetValue;
import com.ecwid.consul.v1.kv.model.PutParams;
import com.ecwid.consul.v1.session.model.NewSession;
import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The algorithm of HashiCorp's semaphore guide, step by step and per thread, by the Consul client: session, contender entry,
 * listing, check-and-set, watch of the prefix; on release check-and-set, and contender and session deleted. What the guide asks
 * of holders, to watch while they hold, is left out, in its favour.
 */
final class GuideContestant implements Contestant {
    private static final long WATCH_SECONDS = 10;

    private final ConsulClient client;
    private final Variant variant;
    private final Gson gson = new Gson();

    GuideContestant(Variant variant, String uri) {
        URI address = URI.create(uri);
        this.client = new ConsulClient(address.getHost(), address.getPort());
        this.variant = variant;
    }

    /** The value of the coordination key, in the guide's form. */
    private record Lock(
            @SerializedName("Limit") int limit,
            @SerializedName("Holders") List<String> holders) {}

    @Override
    public Pass acquire(int thread, int name) {
        String prefix = variant.semaphore(name);
        NewSession made = new NewSession();
        made.setName(prefix);
        String session = client.sessionCreate(made, QueryParams.DEFAULT).getValue();
        PutParams contend = new PutParams();
        contend.setAcquireSession(session);
        if (!client.setKVValue(prefix + "/" + session, "", contend).getValue()) {
            throw new BrokenRunException("the contender entry was refused");
        }
        take(prefix, session);
        return Pass.withoutSlot(() -> giveBack(prefix, session));
    }

    private void take(String prefix, String session) {
        QueryParams query = QueryParams.DEFAULT;
        while (true) {
            Response<List<GetValue>> listing = client.getKVValues(prefix + "/", query);
            List<GetValue> entries = Objects.requireNonNullElse(listing.getValue(), List.of());
            GetValue key = find(entries, prefix + "/.lock");
            Lock lock = parse(key);
            Set<String> alive = entries.stream()
                    .map(GetValue::getSession)
                    .filter(Objects::nonNull)
                    .collect(Collectors.toSet());
            List<String> holders = new ArrayList<>(lock.holders());
            holders.retainAll(alive);
            if (holders.size() < lock.limit()) {
                holders.add(session);
                if (set(prefix, key == null ? 0 : key.getModifyIndex(), new Lock(lock.limit(), holders))) {
                    return;
                }
                query = QueryParams.DEFAULT;
            } else {
                query = new QueryParams(WATCH_SECONDS, listing.getConsulIndex());
            }
        }
    }

    private static @Nullable GetValue find(List<GetValue> entries, String key) {
        return entries.stream()
                .filter(entry -> entry.getKey().equals(key))
                .findFirst()
                .orElse(null);
    }

    private Lock parse(@Nullable GetValue key) {
        return key == null ? new Lock(variant.limit(), List.of()) : gson.fromJson(key.getDecodedValue(), Lock.class);
    }

    private boolean set(String prefix, long index, Lock lock) {
        PutParams compare = new PutParams();
        compare.setCas(index);
        return client.setKVValue(prefix + "/.lock", gson.toJson(lock), compare).getValue();
    }

    private void giveBack(String prefix, String session) {
        while (true) {
            GetValue key = client.getKVValue(prefix + "/.lock").getValue();
            Lock lock = parse(key);
            List<String> holders = new ArrayList<>(lock.holders());
            holders.remove(session);
            if (set(prefix, key.getModifyIndex(), new Lock(lock.limit(), holders))) {
                break;
            }
        }
        client.deleteKVValue(prefix + "/" + session);
        client.sessionDestroy(session, QueryParams.DEFAULT);
    }

    @Override
    public void close() {
        // The Consul client keeps its connections for the life of the JVM.
    }
}
