package io.github.distributedsemaphore.rabbitmq.net;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.Address;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.RabbitServer;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which addresses a connection is tried at, and for how long. */
class RabbitConnectionsTest {
    private static final int FULL_MILLIS = 300;

    private final RabbitSettings settings = RabbitSettings.from(
            BackendUri.parse(RabbitServer.uri() + "?timeout=8s"), HolderInfo.ofThisProcess("a test"));
    private final List<Socket> waiting = new ArrayList<>();

    @Test
    void anAddressThatLeadsNowhereLeavesTheNextOneOfTheSameNodeItsTime() throws Exception {
        try (ServerSocket nowhere = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RabbitConnections connections = new RabbitConnections(
                        settings, node -> () -> List.of(new Address("127.0.0.1", nowhere.getLocalPort()), node))) {
            fill(nowhere);
            RabbitConnections.Opened opened =
                    connections.open("a test", Deadline.after(System.nanoTime(), settings.timeout()));
            assertThat(opened.connection().isOpen()).isTrue();
        } finally {
            for (Socket socket : waiting) {
                socket.close();
            }
        }
    }

    /** The system answers nobody any more who wants to connect, as if the packets were lost. */
    private void fill(ServerSocket server) throws IOException {
        while (true) {
            Socket socket = new Socket();
            waiting.add(socket);
            try {
                socket.connect(server.getLocalSocketAddress(), FULL_MILLIS);
            } catch (SocketTimeoutException e) {
                return;
            }
        }
    }
}
