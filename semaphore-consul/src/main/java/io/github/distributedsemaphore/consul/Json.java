package io.github.distributedsemaphore.consul;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/** Reads JSON strictly, as the official clients do. */
final class Json {
    private Json() {}

    /**
     * Parses a text.
     *
     * @throws JsonParseException if it is not one JSON value and nothing else
     */
    static JsonElement parse(String text) {
        JsonReader reader = new JsonReader(new StringReader(text));
        reader.setStrictness(Strictness.STRICT);
        try {
            JsonElement value = JsonParser.parseReader(reader);
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new JsonParseException("something follows the value");
            }
            return value;
        } catch (IOException e) {
            throw new JsonParseException(e);
        }
    }

    /** Returns a member whatever the case of its name, as Go's decoder does; null if there is none. */
    static @Nullable JsonElement member(JsonObject object, String name) {
        JsonElement exact = object.get(name);
        if (exact != null) {
            return exact;
        }
        return object.keySet().stream()
                .filter(key -> key.equalsIgnoreCase(name))
                .findFirst()
                .map(object::get)
                .orElse(null);
    }

    /** Returns a member's text; empty if it is missing or null. */
    static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || value.isJsonNull() ? "" : value.getAsString();
    }

    /** Returns a member's number; 0 if it is missing or null. */
    static long number(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || value.isJsonNull() ? 0 : value.getAsLong();
    }

    /** Returns a whole number of at least 1 and within an int; null if it is something else. */
    static @Nullable Integer positive(@Nullable JsonElement value) {
        if (value == null
                || !value.isJsonPrimitive()
                || !value.getAsJsonPrimitive().isNumber()) {
            return null;
        }
        String digits = value.getAsString();
        if (!digits.matches("\\d{1,10}")) {
            return null;
        }
        BigInteger number = new BigInteger(digits);
        return number.signum() > 0 && number.bitLength() < 32 ? number.intValueExact() : null;
    }
}
