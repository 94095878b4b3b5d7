package io.github.distributedsemaphore.tck.link;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** See {@link TcpProxy#holdRequest}. */
final class LateRequest extends OneWay {
    private final AtomicInteger left;
    private volatile @Nullable Line held;

    LateRequest(TcpProxy proxy, int number) {
        super(proxy, "hold request " + number, Direction.REQUESTS);
        this.left = new AtomicInteger(number);
    }

    @Override
    byte[] carry(Line line, Direction direction, byte[] bytes) {
        if (concerns(direction) && (line == held || left.decrementAndGet() == 0)) {
            held = line;
            strike();
            awaitHealed();
            // The server is to read what is late, also if the client has reset its end.
            line.afterWrite(Direction.REQUESTS, line::endForClient);
        }
        return bytes;
    }

    @Override
    void beforeEnd(Line line, Direction direction) {
        if (line == held) {
            awaitHealed();
        }
    }
}
