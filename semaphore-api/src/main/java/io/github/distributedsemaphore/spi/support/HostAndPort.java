package io.github.distributedsemaphore.spi.support;

import java.util.Arrays;
import java.util.List;

/**
 * Where a server listens. Immutable.
 *
 * @param host a name or an IP address; an IPv6 address stands here without brackets
 * @param port the port, from 1 to 65535
 */
public record HostAndPort(String host, int port) {
    /**
     * Reads a list such as {@code a:1,b:2}. An address that is named twice counts once.
     *
     * @param text what stands in the address of a backend
     * @param defaultPort the port of those without one
     * @return the addresses in their order, at least one
     * @throws IllegalArgumentException if a port is not from 1 to 65535
     */
    public static List<HostAndPort> parseAll(String text, int defaultPort) {
        return Arrays.stream(text.split(",", -1))
                .map(one -> parse(one, defaultPort))
                .distinct()
                .toList();
    }

    /**
     * Reads {@code host}, {@code host:port} or {@code [::1]:port}. Nothing is {@code localhost}.
     *
     * @param text what stands in the address of a backend
     * @param defaultPort the port if none is given
     * @return the address
     * @throws IllegalArgumentException if the port is not from 1 to 65535
     */
    public static HostAndPort parse(String text, int defaultPort) {
        int bracket = text.indexOf(']');
        int colon = text.indexOf(':', Math.max(bracket, 0));
        String host = colon < 0 ? text : text.substring(0, colon);
        String port = colon < 0 ? "" : text.substring(colon + 1);
        if (host.startsWith("[")) {
            host = host.substring(1, Math.max(1, host.length() - 1));
        }
        return new HostAndPort(host.isEmpty() ? "localhost" : host, port.isEmpty() ? defaultPort : port(port, text));
    }

    private static int port(String port, String text) {
        if (!port.matches("\\d{1,5}") || Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65_535) {
            throw new IllegalArgumentException("The port of '" + text + "' must be from 1 to 65535");
        }
        return Integer.parseInt(port);
    }

    /**
     * Returns the host as it stands in a URI.
     *
     * @return the host, an IPv6 address in brackets
     */
    public String hostInUri() {
        return host.contains(":") ? "[" + host + "]" : host;
    }

    /** Returns {@code host:port}, as it stands in a URI. */
    @Override
    public String toString() {
        return hostInUri() + ":" + port;
    }
}
