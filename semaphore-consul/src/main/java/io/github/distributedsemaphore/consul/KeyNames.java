package io.github.distributedsemaphore.consul;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * Where a semaphore is: its name is its key prefix, so that {@code consul lock -n 3 a/b} meets the semaphore {@code a/b}.
 * What Consul would refuse, cut or tidy up in a key (anything but letters, digits, {@code - _ .} and single slashes between
 * segments, and the segments {@code .} and {@code ..}) is written as a comma and two hexadecimal digits per byte of UTF-8.
 *
 * <p>Three keys lie directly below the prefix, and none deeper, so semaphores whose names begin alike do not mix.
 */
final class KeyNames {
    static final int MAX_BYTES = 128;
    static final String LOCK = ".lock";
    static final String LIMIT = ".semaphore";

    private static final Pattern UNSAFE = Pattern.compile("[^A-Za-z0-9_.-]");
    private static final HexFormat ESCAPED = HexFormat.of().withUpperCase().withPrefix(",");

    private KeyNames() {}

    /** Returns the key prefix of a semaphore, without a slash at its end. */
    static String prefixOf(String root, String name) {
        return root.isEmpty() ? encode(name) : root + "/" + encode(name);
    }

    /** Whether this text stands for itself. */
    static boolean isPlain(String text) {
        return encode(text).equals(text);
    }

    static String encode(String name) {
        StringBuilder key = new StringBuilder();
        String[] segments = name.split("/", -1);
        for (int i = 0; i < segments.length; i++) {
            if (i > 0) {
                boolean between = !segments[i - 1].isEmpty() && !segments[i].isEmpty();
                key.append(between ? "/" : ",2F");
            }
            key.append(segment(segments[i]));
        }
        return key.toString();
    }

    private static String segment(String segment) {
        boolean dots = segment.equals(".") || segment.equals("..");
        return dots ? escaped(segment) : UNSAFE.matcher(segment).replaceAll(match -> escaped(match.group()));
    }

    private static String escaped(String text) {
        return ESCAPED.formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Returns the name that has this prefix.
     *
     * @throws IllegalArgumentException if no name has
     */
    static String decode(String prefix) {
        ByteArrayOutputStream name = new ByteArrayOutputStream();
        for (int i = 0; i < prefix.length(); i++) {
            if (prefix.charAt(i) == ',' && i + 2 < prefix.length()) {
                name.write(HexFormat.fromHexDigits(prefix, i + 1, i + 3));
                i += 2;
            } else {
                name.write(prefix.charAt(i));
            }
        }
        String decoded = name.toString(StandardCharsets.UTF_8);
        if (!encode(decoded).equals(prefix)) {
            throw new IllegalArgumentException("no semaphore has the key prefix " + prefix);
        }
        return decoded;
    }
}
