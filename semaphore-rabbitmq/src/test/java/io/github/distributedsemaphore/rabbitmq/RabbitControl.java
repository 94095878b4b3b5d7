package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Stream;

/** A broker of the kit's own: one that is stopped, killed, loses its data, or takes its users' rights away. */
final class RabbitControl implements ServerControl {
    private static final String NO_RIGHTS = "no rights";
    private static final String ALARM = "memory alarm";

    private final RabbitNode node = RabbitNode.start();
    private final UriAccess access;

    RabbitControl(String settings) {
        access = new UriAccess(node.uri() + settings);
    }

    @Override
    public InetSocketAddress address() {
        return access.address();
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return access.connect(spec, through);
    }

    @Override
    public synchronized boolean isRunning() {
        return node.isRunning();
    }

    @Override
    public synchronized void start() {
        node.restart();
    }

    @Override
    public synchronized void stop() {
        node.stop();
    }

    @Override
    public synchronized void kill() {
        node.kill();
    }

    @Override
    public synchronized void wipe() {
        node.wipe();
    }

    @Override
    public synchronized String incarnation() {
        return "process " + node.pid();
    }

    /** The broker is a child of the script that started it, or the script itself. */
    @Override
    public synchronized List<Long> processes() {
        return ProcessHandle.of(node.pid())
                .map(script -> Stream.concat(Stream.of(script), script.descendants())
                        .map(ProcessHandle::pid)
                        .toList())
                .orElse(List.of());
    }

    @Override
    public List<String> errors() {
        return List.of(NO_RIGHTS, ALARM);
    }

    @Override
    public void beginErrors(String kind) {
        switch (kind) {
            case NO_RIGHTS -> rights("^$");
            case ALARM -> node.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
            default -> throw new IllegalArgumentException(kind);
        }
    }

    @Override
    public void endErrors(String kind) {
        if (kind.equals(NO_RIGHTS)) {
            rights(".*");
        } else {
            node.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
        }
    }

    /** Channels remember for a while what they were allowed; here they are made to forget it, but for those that end meanwhile. */
    private void rights(String pattern) {
        String bytes = "<<\"" + pattern + "\">>";
        node.eval("rabbit_auth_backend_internal:set_permissions(<<\"guest\">>, <<\"/\">>, "
                + String.join(", ", bytes, bytes, bytes) + ", <<\"test\">>),"
                + " [catch sys:replace_state(C, fun(S) -> erase(permission_cache), S end) || C <- rabbit_channel:list_local()],"
                + " ok.");
    }

    @Override
    public synchronized void close() {
        node.close();
    }
}
