package io.github.distributedsemaphore.tck.link;

/** See {@link TcpProxy#throttle}. */
final class Throttle extends OneWay {
    private final int bytesPerSecond;

    Throttle(TcpProxy proxy, int bytesPerSecond, Direction... directions) {
        super(proxy, "throttle to " + bytesPerSecond + " bytes/s", directions);
        if (bytesPerSecond < 1) {
            throw new IllegalArgumentException("bytesPerSecond is " + bytesPerSecond + ", it must be positive");
        }
        this.bytesPerSecond = bytesPerSecond;
    }

    @Override
    byte[] carry(Line line, Direction direction, byte[] bytes) {
        if (concerns(direction)) {
            strike();
            Delay.sleep(bytes.length * 1_000_000_000L / bytesPerSecond);
        }
        return bytes;
    }
}
