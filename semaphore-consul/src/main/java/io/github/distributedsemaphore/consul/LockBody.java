package io.github.distributedsemaphore.consul;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonPrimitive;
import io.github.distributedsemaphore.IncompatibleStateException;
import java.math.BigInteger;
import java.util.Set;
import java.util.TreeSet;

/**
 * The value of the coordination key {@code .lock}: the official form, in which the holders are a JSON object of session ids.
 * We add a nonce, so that no two of our bodies are equal (Consul does not count a write of the same bytes as a change), and
 * a mark once the semaphore was destroyed. The official client ignores both and drops them with its next write.
 *
 * @param limit the number of slots
 * @param holders the session ids of the holders, dead ones included
 * @param nonce what makes the body unlike all others; empty if it was read
 * @param destroyed whether the semaphore was destroyed while somebody held it
 */
record LockBody(int limit, Set<String> holders, String nonce, boolean destroyed) {
    /** What marks a key as a semaphore's, on the coordination key and on the contenders'. */
    static final BigInteger FLAGS = new BigInteger("16210313421097356768");

    LockBody {
        holders = Set.copyOf(holders);
    }

    String toJson() {
        JsonObject members = new JsonObject();
        new TreeSet<>(holders).forEach(holder -> members.addProperty(holder, true));
        JsonObject body = new JsonObject();
        body.addProperty("Limit", limit);
        // Never null: the official client ends with a panic on it.
        body.add("Holders", members);
        if (!nonce.isEmpty()) {
            body.addProperty("Nonce", nonce);
        }
        if (destroyed) {
            body.addProperty("Destroyed", true);
        }
        return body.toString();
    }

    /**
     * Reads what is stored.
     *
     * @param key where, for messages
     * @throws IncompatibleStateException if it is not the official form, naming what was found
     */
    static LockBody parse(String key, String flags, String text) {
        if (!flags.equals(FLAGS.toString())) {
            throw incompatible(key, "flags " + flags, "flags " + FLAGS, "it may be a plain lock (consul lock -n 1)");
        }
        JsonElement json;
        try {
            json = Json.parse(text);
        } catch (JsonParseException e) {
            throw incompatible(key, quote(text), FORM, "it is no JSON");
        }
        if (!json.isJsonObject()) {
            throw incompatible(key, quote(text), FORM, "it is no JSON object");
        }
        JsonObject object = json.getAsJsonObject();
        Integer limit = Json.positive(Json.member(object, "Limit"));
        if (limit == null) {
            throw incompatible(key, quote(text), FORM, "its Limit is no number from 1");
        }
        JsonElement holders = Json.member(object, "Holders");
        if (holders == null || !holders.isJsonObject()) {
            throw incompatible(key, quote(text), FORM, "its Holders are no JSON object");
        }
        boolean destroyed = new JsonPrimitive(true).equals(object.get("Destroyed"));
        return new LockBody(limit, holders.getAsJsonObject().keySet(), "", destroyed);
    }

    private static final String FORM = "{\"Limit\":n,\"Holders\":{\"<session>\":true,...}}";

    private static String quote(String text) {
        return "'" + (text.length() > 200 ? text.substring(0, 200) + "..." : text) + "'";
    }

    private static IncompatibleStateException incompatible(String key, String found, String expected, String reason) {
        return new IncompatibleStateException(
                "Key " + key + " holds " + found + ", expected " + expected + "; " + reason
                        + ". Nothing was changed: use another name, or delete the key when nobody uses it",
                null);
    }
}
