package io.github.distributedsemaphore.redis.net;

import java.util.Arrays;
import java.util.List;

/** Where a server listens. */
public record HostAndPort(String host, int port) {
    /** Reads {@code a:1,b:2}; nothing is {@code localhost}. */
    static List<HostAndPort> parseAll(String text, int defaultPort) {
        return Arrays.stream(text.split(",", -1))
                .map(one -> parse(one, defaultPort))
                .distinct()
                .toList();
    }

    /** Reads {@code host}, {@code host:port} or {@code [::1]:port}; nothing is {@code localhost}. */
    static HostAndPort parse(String text, int defaultPort) {
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

    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
