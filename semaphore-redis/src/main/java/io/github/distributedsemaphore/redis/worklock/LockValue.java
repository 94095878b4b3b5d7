package io.github.distributedsemaphore.redis.worklock;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What the key holds.
 *
 * @param kind what it means
 * @param attempt the number of the attempt; zero if it is none
 * @param text as it is stored; empty if the key is absent
 */
record LockValue(Kind kind, long attempt, String text) {
    static final String DONE = "DONE";

    /** What the Node package leaves when it counts on from DONE. */
    static final String NOT_A_NUMBER = "NaN";

    /** As its workers write it. What is longer would be no exact number to them. */
    private static final Pattern NUMBER = Pattern.compile("[1-9]\\d{0,14}");

    enum Kind {
        ABSENT,
        ATTEMPT,
        DONE,
        NOT_A_NUMBER,
        FOREIGN
    }

    static LockValue of(@Nullable String text) {
        if (text == null) {
            return new LockValue(Kind.ABSENT, 0, "");
        } else if (NUMBER.matcher(text).matches()) {
            return new LockValue(Kind.ATTEMPT, Long.parseLong(text), text);
        } else if (text.equals(DONE)) {
            return new LockValue(Kind.DONE, 0, text);
        } else if (text.equals(NOT_A_NUMBER)) {
            return new LockValue(Kind.NOT_A_NUMBER, 0, text);
        }
        return new LockValue(Kind.FOREIGN, 0, text);
    }
}
