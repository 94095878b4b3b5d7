package io.github.distributedsemaphore.spi;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;

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

    /** Java asks a name server for it, which may take long where there is no network yet. So the system is asked first. */
    private static String hostName() {
        return Stream.of(kernelName(), variable("HOSTNAME"), variable("COMPUTERNAME"))
                .filter(name -> !name.isBlank())
                .map(String::strip)
                .findFirst()
                .orElseGet(HolderInfo::resolvedName);
    }

    private static String kernelName() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname"));
        } catch (IOException e) {
            // No Linux.
            return "";
        }
    }

    private static String variable(String name) {
        return Objects.requireNonNullElse(System.getenv(name), "");
    }

    private static String resolvedName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
