package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import java.util.List;
import java.util.UUID;

/** Tokens with the rights that docs/backends/consul.md lists, with the right to look, and one that nobody knows. */
final class ConsulAccounts {
    /** What whoever has no token may do, these may not. */
    private static final String NOTHING_ELSE = "key_prefix \"\" { policy = \"deny\" }"
            + " node_prefix \"\" { policy = \"deny\" }"
            + " service_prefix \"\" { policy = \"deny\" }"
            + " agent_prefix \"\" { policy = \"deny\" }"
            + " event_prefix \"\" { policy = \"deny\" }"
            + " query_prefix \"\" { policy = \"deny\" }"
            + " operator = \"deny\" keyring = \"deny\" ";

    private ConsulAccounts() {}

    /**
     * Makes the tokens.
     *
     * @param server where an operator is known
     * @param prefix of the keys
     * @param uri of clients, without token
     */
    static Accounts at(ConsulServer server, String prefix, String uri) {
        String worker = server.createToken(rules(prefix, "write"));
        String looker = server.createToken(rules(prefix, "read"));
        String unknown = UUID.randomUUID().toString();
        String withToken = uri + "&token=";
        return new UriAccounts(
                withToken + worker, withToken + unknown, withToken + looker, List.of(worker, looker, unknown));
    }

    private static String rules(String prefix, String right) {
        return NOTHING_ELSE + "key_prefix \"" + prefix + "/\" { policy = \"" + right + "\" }"
                + " session_prefix \"\" { policy = \"" + right + "\" }";
    }
}
