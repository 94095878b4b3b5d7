package io.github.distributedsemaphore.tck.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FreePortsTest {
    private static final int BLOCK = 100;

    private static ServerSocket listen(int port) throws IOException {
        return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
    }

    @Test
    void allPortsOfAJvmAreFromABlockThatNoOtherJvmCanTake() {
        List<Integer> ports = FreePorts.choose(BLOCK / 2);
        int first = ports.get(0) / BLOCK * BLOCK;

        assertThat(ports).doesNotHaveDuplicates().allMatch(port -> port > first && port < first + BLOCK);
        assertThatThrownBy(() -> listen(first).close()).isInstanceOf(BindException.class);
    }

    /** Its server may be one that is being restarted. */
    @Test
    void aPortComesAgainAfterAllOthersOnly() {
        List<Integer> ports = new ArrayList<>();
        for (int port = FreePorts.choose(1).get(0);
                !ports.contains(port);
                port = FreePorts.choose(1).get(0)) {
            ports.add(port);
        }

        // Other programs may have some of them.
        assertThat(ports).hasSizeGreaterThan(BLOCK / 2);
    }

    @Test
    void aPortOnWhichSomebodyListensIsLeftOut() throws IOException {
        List<Integer> ports = new ArrayList<>();
        try (ServerSocket taken = listen(FreePorts.choose(1).get(0))) {
            for (int i = 0; i < BLOCK; i++) {
                ports.addAll(FreePorts.choose(1));
            }
            assertThat(ports).doesNotContain(taken.getLocalPort());
        }
    }
}
