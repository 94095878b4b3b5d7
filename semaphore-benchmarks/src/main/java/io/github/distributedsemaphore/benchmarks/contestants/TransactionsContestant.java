package io.github.distributedsemaphore.benchmarks.contestants;

import com.ecwid.consul.v1.ConsulClient;
import com.ecwid.consul.v1.ConsulRawClient;
import com.ecwid.consul.v1.QueryParams;
import com.ecwid.consul.v1.session.model.NewSession;
import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Two bare transactions by the Consul client to keys of each thread. The first does what a grant has to:
 * the holder's entry bound to its session, the limit looked at, the list of holders compared and set. The second sets the list
 * alone.
 */
final class TransactionsContestant implements Contestant {
    private final ConsulRawClient client;
    private final ConsulClient typed;
    private final Gson gson = new Gson();
    private final List<Keys> keys = new ArrayList<>();

    TransactionsContestant(Variant variant, String uri) {
        URI address = URI.create(uri);
        client = new ConsulRawClient(address.getHost(), address.getPort());
        typed = new ConsulClient(client);
        String prefix = variant.semaphore(0) + "/" + ProcessHandle.current().pid() + "-";
        for (int thread = 0; thread < variant.threads(); thread++) {
            keys.add(new Keys(prefix + thread));
        }
    }

    /** What a thread writes to, and the index that it last left there. */
    private final class Keys {
        private final String entry;
        private final String limit;
        private final String list;
        private final String session;
        private final long limitIndex;
        private long listIndex;

        Keys(String prefix) {
            entry = prefix + "/entry";
            limit = prefix + "/limit";
            list = prefix + "/list";
            NewSession made = new NewSession();
            made.setName(prefix);
            session = typed.sessionCreate(made, QueryParams.DEFAULT).getValue();
            limitIndex = indexOf(limit, send(List.of(operation("set", limit, Map.of("Value", encoded("3"))))));
        }

        void take() {
            // No two values are equal: Consul takes a write of the same bytes for none.
            String value = encoded("as long as what is stored of one holder, " + System.nanoTime());
            listIndex = indexOf(
                    list,
                    send(List.of(
                            operation("lock", entry, Map.of("Session", session, "Value", value)),
                            operation("check-index", limit, Map.of("Index", limitIndex)),
                            set(value))));
        }

        void giveBack() {
            String value = encoded("as long as the list of no holders, " + System.nanoTime());
            listIndex = indexOf(list, send(List.of(set(value))));
        }

        private Map<String, Object> set(String value) {
            return operation("cas", list, Map.of("Index", listIndex, "Value", value));
        }
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Map<String, Object> operation(String verb, String key, Map<String, Object> arguments) {
        Map<String, Object> operation = new HashMap<>(arguments);
        operation.put("Verb", verb);
        operation.put("Key", key);
        return Map.of("KV", operation);
    }

    private JsonArray send(List<Map<String, Object>> operations) {
        String answer =
                client.makePutRequest("/v1/txn", gson.toJson(operations)).getContent();
        JsonElement results = gson.fromJson(answer, JsonObject.class).get("Results");
        if (results == null || !results.isJsonArray()) {
            throw new BrokenRunException("a transaction was refused: " + answer);
        }
        return results.getAsJsonArray();
    }

    private static long indexOf(String key, JsonArray results) {
        for (JsonElement result : results) {
            JsonObject written = result.getAsJsonObject().getAsJsonObject("KV");
            if (written.get("Key").getAsString().equals(key)) {
                return written.get("ModifyIndex").getAsLong();
            }
        }
        throw new BrokenRunException("no index of '" + key + "' in " + results);
    }

    @Override
    public Pass acquire(int thread, int name) {
        keys.get(thread).take();
        return Pass.withoutSlot(keys.get(thread)::giveBack);
    }

    @Override
    public void close() {
        keys.forEach(used -> typed.sessionDestroy(used.session, QueryParams.DEFAULT));
    }
}
