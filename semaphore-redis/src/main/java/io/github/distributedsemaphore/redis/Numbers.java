package io.github.distributedsemaphore.redis;

import org.jspecify.annotations.Nullable;

/** Numbers as we store them. */
final class Numbers {
    private static final int MOST_DIGITS = 18;

    private Numbers() {}

    /** Reads a whole number of at most 18 digits and no sign; anything else is -1. */
    static long parse(@Nullable String text) {
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
