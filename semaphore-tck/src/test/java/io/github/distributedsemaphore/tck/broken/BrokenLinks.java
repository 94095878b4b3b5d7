package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.tck.TcpLink;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Clients' ends of a connection that go about its faults wrongly. */
final class BrokenLinks {
    private BrokenLinks() {}

    /** Sends again what was not answered, without a word about the first time. */
    static final class Repeating extends TcpLink {
        Repeating(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected <T> T lost(String what, Supplier<T> onServer, IOException reason) {
            return call(what, onServer);
        }
    }

    /** Says that nothing was done when nothing was heard. */
    static final class Certain extends TcpLink {
        Certain(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected <T> T lost(String what, Supplier<T> onServer, IOException reason) {
            throw new BackendUnavailableException("The memory server did not answer to " + what, reason);
        }
    }

    /** Never gives a connection up: what broke stays broken. */
    static final class Faithful extends TcpLink {
        private Socket only;

        Faithful(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected synchronized Socket connection(String what) {
            if (only == null) {
                only = super.connection(what);
            }
            return only;
        }

        @Override
        public synchronized <T> T call(String what, Supplier<T> onServer) {
            return super.call(what, onServer);
        }
    }

    /** Tries to connect until it can. */
    static class Stubborn extends TcpLink {
        private final int most;

        Stubborn(InetSocketAddress server, int most) {
            super(server);
            this.most = most;
        }

        @Override
        protected Socket connection(String what) {
            for (int i = 0; i < most; i++) {
                try {
                    return probed(super.connection(what));
                } catch (BackendUnavailableException | IOException e) {
                    Ghosts.pause(1);
                }
            }
            return super.connection(what);
        }

        /** A connection that is reset as soon as it is made is none. */
        private static Socket probed(Socket socket) throws IOException {
            int timeout = socket.getSoTimeout();
            socket.setSoTimeout(250);
            try {
                if (socket.getInputStream().read() < 0) {
                    throw new IOException("closed");
                }
            } catch (SocketTimeoutException e) {
                socket.setSoTimeout(timeout);
            }
            return socket;
        }
    }

    /** Waits for an answer for as long as it takes. */
    static final class Patient extends TcpLink {
        Patient(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected int timeoutMillis() {
            return 0;
        }
    }

    /** When one connection broke makes anew all that there ever were, and forgets them. */
    static final class Hoarding extends TcpLink {
        private final InetSocketAddress server;
        private final List<Socket> spare = new CopyOnWriteArrayList<>();
        private int drops;

        Hoarding(InetSocketAddress server) {
            super(server);
            this.server = server;
        }

        @Override
        protected synchronized void drop(Socket socket) {
            super.drop(socket);
            drops++;
            for (int i = 0; i < drops && spare.size() < 100; i++) {
                try {
                    spare.add(new Socket(server.getAddress(), server.getPort()));
                } catch (IOException e) {
                    // Then one fewer is forgotten.
                }
            }
        }

        @Override
        public void close() {
            super.close();
            spare.forEach(super::drop);
        }
    }

    /** Starts to tell that it is alive whenever a connection broke, and never stops the old one. */
    static final class Chatty extends TcpLink {
        private final AtomicInteger drops = new AtomicInteger();
        private volatile boolean closed;

        Chatty(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected void drop(Socket socket) {
            super.drop(socket);
            if (drops.incrementAndGet() == 1) {
                Ghosts.later(this::chat);
            }
        }

        private void chat() {
            while (!closed) {
                for (int i = 0; i < drops.get() && !closed; i++) {
                    try {
                        call("ping", () -> true);
                    } catch (BackendUnavailableException e) {
                        Ghosts.pause(1);
                    }
                }
                Ghosts.pause(1);
            }
        }

        @Override
        public void close() {
            closed = true;
            super.close();
        }
    }

    /** Asks once more for each connection that ever broke. */
    static final class Echoing extends TcpLink {
        private final AtomicInteger drops = new AtomicInteger();

        Echoing(InetSocketAddress server) {
            super(server);
        }

        @Override
        protected void drop(Socket socket) {
            super.drop(socket);
            drops.incrementAndGet();
        }

        @Override
        public <T> T call(String what, Supplier<T> onServer) {
            T answer = super.call(what, onServer);
            for (int i = 0; what.equals("exchange") && i < drops.get(); i++) {
                try {
                    super.call("ping", () -> true);
                } catch (BackendUnavailableException e) {
                    break;
                }
            }
            return answer;
        }
    }
}
