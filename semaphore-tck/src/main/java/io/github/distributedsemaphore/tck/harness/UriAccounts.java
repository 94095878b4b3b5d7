package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import java.util.List;

/**
 * Accounts whose credentials are part of a URI. Immutable.
 *
 * @param worker the URI of an account that has no more rights than the documentation asks for
 * @param stranger the URI of somebody whose credentials are wrong
 * @param looker the URI of an account that may look and may not change anything
 * @param secrets what is secret in these URIs
 */
public record UriAccounts(String worker, String stranger, String looker, List<String> secrets) implements Accounts {
    /**
     * Keeps an unmodifiable copy of the secrets.
     *
     * @param worker see the record
     * @param stranger see the record
     * @param looker see the record
     * @param secrets see the record
     */
    public UriAccounts {
        secrets = List.copyOf(secrets);
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec) {
        return UriAccess.connect(worker, spec);
    }

    @Override
    public SemaphoreClient connectWrongly(ClientSpec spec) {
        return UriAccess.connect(stranger, spec);
    }

    @Override
    public SemaphoreClient connectToLook(ClientSpec spec) {
        return UriAccess.connect(looker, spec);
    }

    /** Says nothing of the URIs, which hold the secrets. */
    @Override
    public String toString() {
        return "UriAccounts";
    }
}
