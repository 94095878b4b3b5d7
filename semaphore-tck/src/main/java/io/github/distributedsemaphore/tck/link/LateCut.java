package io.github.distributedsemaphore.tck.link;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** See {@link TcpProxy#cutAfter}. */
final class LateCut extends LinkFault {
    private final Direction direction;
    private final AtomicLong left;
    private final byte[] text;
    private int matched;
    private @Nullable Line torn;

    LateCut(TcpProxy proxy, Direction direction, long bytes, byte[] text) {
        super(proxy, "cut " + direction + " after " + (text.length == 0 ? bytes + " bytes" : "a text"));
        this.direction = direction;
        this.left = new AtomicLong(bytes);
        this.text = text;
    }

    @Override
    synchronized byte @Nullable [] carry(Line line, Direction going, byte[] bytes) {
        if (line == torn) {
            return null;
        }
        if (going != direction || torn != null || isHealed()) {
            return bytes;
        }
        int passing = text.length == 0 ? (int) Math.min(bytes.length, left.get()) : endOfText(bytes);
        if (passing < 0 || (text.length == 0 && left.addAndGet(-passing) > 0)) {
            return bytes;
        }
        torn = line;
        strike();
        line.afterWrite(direction, direction == Direction.REQUESTS ? line::endForClient : () -> line.end(Ending.RESET));
        return Arrays.copyOf(bytes, passing);
    }

    /** Returns how many of the bytes lead to the end of the text, or -1 if it has not come yet. */
    private int endOfText(byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            matched = bytes[i] == text[matched] ? matched + 1 : bytes[i] == text[0] ? 1 : 0;
            if (matched == text.length) {
                matched = 0;
                return i + 1;
            }
        }
        return -1;
    }
}
