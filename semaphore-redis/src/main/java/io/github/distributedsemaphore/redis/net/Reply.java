package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.IncompatibleStateException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One reply of the server, or one element of a reply: text, a number, a list, nothing, or an error. Asked for something
 * that it is not, it throws {@link IncompatibleStateException}.
 *
 * @param value a {@code String}, {@code Long}, {@code List} of replies, {@link Failure} or null
 */
public record Reply(@Nullable Object value) {
    static final Reply NIL = new Reply(null);
    private static final int MOST_DIGITS = 18;

    /** An error reply. */
    record Failure(String message) {}

    public boolean isNil() {
        return value == null;
    }

    /** The text of the error that this reply is; null if it is none. */
    @Nullable
    public String error() {
        return value instanceof Failure failure ? failure.message() : null;
    }

    @Nullable
    public String textOrNull() {
        return value == null ? null : text();
    }

    public String text() {
        if (value instanceof String || value instanceof Long) {
            return value.toString();
        }
        throw unexpected("text");
    }

    public long number() {
        try {
            return value instanceof Long number ? number : Long.parseLong(text());
        } catch (NumberFormatException e) {
            throw unexpected("a whole number");
        }
    }

    /** A score of a sorted set, of which we store whole numbers below 2 to the 53rd only. */
    public long score() {
        try {
            return (long) Double.parseDouble(text());
        } catch (NumberFormatException e) {
            throw unexpected("a score");
        }
    }

    @SuppressWarnings("unchecked") // ReplyOutput makes no other lists.
    public List<Reply> list() {
        if (value instanceof List) {
            return (List<Reply>) value;
        }
        throw unexpected("a list");
    }

    /** The texts in a list. */
    public List<String> texts() {
        return list().stream().map(Reply::text).toList();
    }

    /** The names and values, or members and scores, that stand in turn in a list. */
    public Map<String, String> map() {
        List<Reply> list = list();
        Map<String, String> map = new HashMap<>();
        for (int i = 0; i + 1 < list.size(); i += 2) {
            map.put(list.get(i).text(), list.get(i + 1).text());
        }
        return map;
    }

    private IncompatibleStateException unexpected(String what) {
        return new IncompatibleStateException(
                "Redis answered '" + value + "' where " + what + " is expected: somebody else writes the keys?", null);
    }

    /** Reads a whole number of at most 18 digits and no sign; anything else is -1. */
    public static long digits(@Nullable String text) {
        if (text == null || text.isEmpty() || text.length() > MOST_DIGITS) {
            return -1;
        }
        long number = 0;
        for (int i = 0; i < text.length(); i++) {
            char digit = text.charAt(i);
            if (digit < '0' || digit > '9') {
                return -1;
            }
            number = number * 10 + (digit - '0');
        }
        return number;
    }
}
