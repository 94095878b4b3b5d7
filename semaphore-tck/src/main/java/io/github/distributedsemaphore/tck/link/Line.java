package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One connection through the proxy: two threads that carry bytes, one each way. The end of a stream is passed on as it came,
 * also half of it, so that neither server nor client can tell that something stands between them.
 */
final class Line {
    private static final int PIECE = 16_384;

    private final TcpProxy proxy;
    private final Socket client;
    private final Socket server;
    private final AtomicInteger carrying = new AtomicInteger(2);

    /** Whether a request went by since the last answer: the next bytes from the server begin an answer. */
    volatile boolean asked;

    /** What is to happen when the bytes that are being carried that way have gone on their way. Each only by the thread that carries. */
    private final Map<Direction, Runnable> afterWrite = new ConcurrentHashMap<>();

    Line(TcpProxy proxy, Socket client, Socket server) {
        this.proxy = proxy;
        this.client = client;
        this.server = server;
    }

    void start() {
        TcpProxy.thread("requests", () -> carry(client, server, Direction.REQUESTS));
        TcpProxy.thread("answers", () -> carry(server, client, Direction.ANSWERS));
    }

    /** Has something happen when the bytes that are being carried that way have gone on their way. */
    void afterWrite(Direction direction, Runnable action) {
        afterWrite.put(direction, action);
    }

    boolean isOpen() {
        return carrying.get() > 0 && !client.isClosed();
    }

    private void carry(Socket from, Socket to, Direction direction) {
        byte[] buffer = new byte[PIECE];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            boolean deaf = false;
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                byte[] bytes = proxy.through(this, direction, Arrays.copyOf(buffer, count));
                deaf = deaf || !write(out, bytes);
                Runnable next = afterWrite.get(direction);
                if (next != null) {
                    next.run();
                    return;
                }
            }
            proxy.end(this, direction);
            to.shutdownOutput();
        } catch (IOException e) {
            // A reset is passed on as one. Of a socket that is closed nothing can be learned any more.
            end(Ending.RESET, to);
        } finally {
            if (carrying.decrementAndGet() == 0) {
                close(client);
                close(server);
                proxy.ended(this);
            }
        }
    }

    /** Nobody listens any more: the other direction will find out how it ended. */
    private static boolean write(OutputStream out, byte[] bytes) {
        try {
            out.write(bytes);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It was closed already.
        }
    }

    void end(Ending ending) {
        end(ending, client);
        end(ending, server);
    }

    /**
     * The client is cut off; the server reads what was sent, and then the end. The client first, or it could have the server's end
     * before.
     */
    void endForClient() {
        end(Ending.RESET, client);
        end(Ending.FINISH, server);
    }

    private static void end(Ending ending, Socket socket) {
        try {
            if (ending == Ending.FINISH) {
                socket.shutdownOutput();
            } else if (ending == Ending.RESET && !socket.isClosed()) {
                socket.setSoLinger(true, 0);
                socket.close();
            }
        } catch (IOException e) {
            // It was closed already.
        }
    }
}
