package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SessionListener;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;

/** A client of a server in memory whose calls go over a connection, and so may take longer. */
public class LinkedMemoryBackend extends MemoryBackend {
    private static final Duration OPERATION = Duration.ofMillis(1_500);

    private final Link link;

    LinkedMemoryBackend(ProbedServer server, HolderInfo self, Link link) {
        super(server, self, link);
        this.link = link;
    }

    @Override
    public Guarantees guarantees() {
        Guarantees direct = super.guarantees();
        return GuaranteesBuilder.from(direct)
                .callBound(OPERATION)
                .exposure(Fault.BACKEND_RESTART, Exposure.NONE)
                .exposure(Fault.FAIL_OVER, direct.detectionMax())
                .build();
    }

    @Override
    public BackendSession open(String name, SessionListener listener) {
        return naming(BackendSession.class, super.open(name, listener), name);
    }

    @Override
    public BackendAdmin admin() {
        return naming(BackendAdmin.class, super.admin(), "");
    }

    /** A link does not know what its calls are about, and each failure is to say it. */
    private static <T> T naming(Class<T> type, T target, String name) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        return method.invoke(target, arguments);
                    } catch (InvocationTargetException e) {
                        String about = name.isEmpty() && arguments != null ? String.valueOf(arguments[0]) : name;
                        throw named(e.getCause(), "Semaphore '" + about + "': ");
                    }
                }));
    }

    private static Throwable named(Throwable failure, String about) {
        if (failure instanceof BackendUnavailableException) {
            return new BackendUnavailableException(about + failure.getMessage(), failure);
        } else if (failure instanceof OutcomeUnknownException) {
            return new OutcomeUnknownException(about + failure.getMessage(), failure);
        }
        return failure;
    }

    @Override
    public void close() {
        if (link instanceof TcpLink connected) {
            connected.close();
        }
    }
}
