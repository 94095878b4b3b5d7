package io.github.distributedsemaphore.tck.link;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** See {@link TcpProxy#loseAnswer}. */
final class LostAnswer extends LinkFault {
    private final AtomicInteger left;
    private final String request;
    private final Ending ending;
    private final AtomicReference<@Nullable Line> asked = new AtomicReference<>();
    private volatile @Nullable Line torn;

    LostAnswer(TcpProxy proxy, int number, String request, Ending ending) {
        super(proxy, "lose answer " + number + (request.isEmpty() ? "" : " to '" + request + "'") + " with " + ending);
        this.left = new AtomicInteger(number);
        this.request = request;
        this.ending = ending;
    }

    @Override
    byte @Nullable [] carry(Line line, Direction direction, byte[] bytes) {
        if (direction == Direction.REQUESTS) {
            line.asked = true;
            if (!request.isEmpty() && new String(bytes, StandardCharsets.ISO_8859_1).contains(request)) {
                asked.compareAndSet(null, line);
            }
            return bytes;
        }
        if (line == torn) {
            return null;
        }
        boolean begins = line.asked && (request.isEmpty() || asked.get() == line);
        if (begins) {
            line.asked = false;
        }
        if (!begins || isHealed() || left.decrementAndGet() != 0) {
            return bytes;
        }
        torn = line;
        strike();
        if (ending != Ending.SILENCE) {
            line.end(ending);
        } else if (isHealed()) {
            // The end of the fault may have been before this line was noted.
            line.end(Ending.RESET);
        }
        return null;
    }

    @Override
    void afterwards() {
        Line line = torn;
        if (line != null) {
            line.end(Ending.RESET);
        }
    }
}
