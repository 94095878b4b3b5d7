package io.github.distributedsemaphore.tck.link;

/** See {@link TcpProxy#refuse}. */
final class Refusal extends LinkFault {
    Refusal(TcpProxy proxy) {
        super(proxy, "refuse new connections");
    }

    @Override
    boolean admits() {
        strike();
        return false;
    }
}
