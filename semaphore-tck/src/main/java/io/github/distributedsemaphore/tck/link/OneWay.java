package io.github.distributedsemaphore.tck.link;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/** A fault of one direction or of both, with an end that threads can wait for. */
abstract class OneWay extends LinkFault {
    private final Set<Direction> directions;
    private final CountDownLatch over = new CountDownLatch(1);

    OneWay(TcpProxy proxy, String what, Direction... directions) {
        super(proxy, directions.length == 0 ? what : what + " of " + List.of(directions));
        this.directions = directions.length == 0 ? EnumSet.allOf(Direction.class) : EnumSet.copyOf(List.of(directions));
    }

    final boolean concerns(Direction direction) {
        return directions.contains(direction) && !isHealed();
    }

    final void awaitHealed() {
        try {
            over.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts a proxy", e);
        }
    }

    @Override
    void afterwards() {
        over.countDown();
    }
}
