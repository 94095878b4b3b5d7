package io.github.distributedsemaphore.memory;

import java.util.function.Consumer;
import java.util.function.Supplier;

/** The network between one client and the server: every call of the client passes through it. */
public interface Link {
    /** A network without faults. */
    Link DIRECT = with(what -> {}, what -> {});

    /**
     * Carries a call. Not calling the server and throwing {@link
     * io.github.distributedsemaphore.BackendUnavailableException} is a lost request; calling it and throwing {@link
     * io.github.distributedsemaphore.OutcomeUnknownException} is a lost answer; blocking on either side is a slow network.
     *
     * @param what the name of the method, such as {@code exchange}
     * @param onServer does the work on the server
     * @param <T> what it answers
     * @return the answer
     */
    <T> T call(String what, Supplier<T> onServer);

    /**
     * Makes a link that does something before and after the server works; what it throws, the caller gets.
     *
     * @param before runs before the request reaches the server
     * @param after runs after the server has done it, before the client has the answer
     * @return the link
     */
    static Link with(Consumer<String> before, Consumer<String> after) {
        return new Link() {
            @Override
            public <T> T call(String what, Supplier<T> onServer) {
                before.accept(what);
                T answer = onServer.get();
                after.accept(what);
                return answer;
            }
        };
    }
}
