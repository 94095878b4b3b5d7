package io.github.distributedsemaphore.spi;

import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * Describes this client, for people who look at a semaphore. Adapters store it beside each hold and nothing depends on it.
 *
 * @param host the name of this host
 * @param pid the id of this process
 * @param label what the application calls itself; empty if nothing; at most {@value #MAX_LABEL} characters, none of
 *     them a control character
 */
public record HolderInfo(String host, long pid, String label) {
    /** The longest label, in characters. */
    public static final int MAX_LABEL = 200;

    /**
     * Checks the label.
     *
     * @param host the name of this host
     * @param pid the id of this process
     * @param label what the application calls itself
     */
    public HolderInfo {
        if (label.length() > MAX_LABEL) {
            throw new IllegalArgumentException(
                    "label has " + label.length() + " characters, at most " + MAX_LABEL + " are allowed");
        }
        if (label.chars().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException("label contains a control character");
        }
    }

    /**
     * Describes this process.
     *
     * @param label what the application calls itself; empty if nothing
     * @return host and pid of this process with that label
     */
    public static HolderInfo ofThisProcess(String label) {
        return new HolderInfo(hostName(), ProcessHandle.current().pid(), label);
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            String fromEnvironment = System.getenv("HOSTNAME");
            return fromEnvironment == null ? "localhost" : fromEnvironment;
        }
    }
}
