package io.github.distributedsemaphore.tck.link;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** See {@link TcpProxy#lose}. */
final class Loss extends OneWay {
    private final Set<Line> torn = ConcurrentHashMap.newKeySet();

    Loss(TcpProxy proxy, Direction... directions) {
        super(proxy, "lose", directions);
    }

    @Override
    byte @Nullable [] carry(Line line, Direction direction, byte[] bytes) {
        if (!concerns(direction)) {
            return bytes;
        }
        torn.add(line);
        strike();
        if (isHealed()) {
            // The end of the fault may have been before this line was noted.
            line.end(Ending.RESET);
        }
        return null;
    }

    @Override
    void beforeEnd(Line line, Direction direction) {
        if (concerns(direction)) {
            awaitHealed();
        }
    }

    @Override
    void afterwards() {
        super.afterwards();
        torn.forEach(line -> line.end(Ending.RESET));
    }
}
