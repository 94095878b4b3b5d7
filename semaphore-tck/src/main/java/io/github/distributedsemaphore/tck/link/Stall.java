package io.github.distributedsemaphore.tck.link;

/** See {@link TcpProxy#stall}. */
final class Stall extends OneWay {
    Stall(TcpProxy proxy, Direction... directions) {
        super(proxy, "stall", directions);
    }

    @Override
    byte[] carry(Line line, Direction direction, byte[] bytes) {
        if (concerns(direction)) {
            strike();
            awaitHealed();
        }
        return bytes;
    }

    @Override
    void beforeEnd(Line line, Direction direction) {
        if (concerns(direction)) {
            awaitHealed();
        }
    }
}
