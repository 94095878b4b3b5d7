package io.github.distributedsemaphore.local;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Names of semaphores as names of directories.
 *
 * <p>Two forms, distinguished by their first letter. {@code n-} is for people: lower-case letters, digits, {@code -} and
 * {@code _} stand for themselves, every other byte of the UTF-8 is {@code =} and two hexadecimal digits. Where that gets
 * too long, {@code b-} and the bytes as one number of base 36. A name has exactly one form and every
 * form one name, also on file systems that take upper and lower case for the same or change Unicode.
 */
final class LocalNames {
    /** The longest name in bytes of UTF-8: as a number and with its prefix it fits into the 255 bytes of a file name. */
    static final int MAX_BYTES = 150;

    private static final int MAX_READABLE = 200;
    private static final Pattern READABLE = Pattern.compile("n-(?:[a-z0-9_-]|=[0-9a-f]{2})+");
    private static final Pattern COMPACT = Pattern.compile("b-[0-9a-z]+");

    private LocalNames() {}

    /**
     * Returns the name of the directory.
     *
     * @throws IllegalArgumentException if the name is empty, too long or no well-formed Unicode
     */
    static String encode(String name) {
        byte[] bytes = utf8(name);
        if (bytes.length == 0 || bytes.length > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "a name takes 1 to " + MAX_BYTES + " bytes of UTF-8, this one takes " + bytes.length);
        }
        String readable = readable(bytes);
        return readable.length() <= MAX_READABLE ? readable : "b-" + compact(bytes);
    }

    private static byte[] utf8(String name) {
        try {
            ByteBuffer buffer = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(name));
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return bytes;
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the name holds half a surrogate pair: that is no Unicode text", e);
        }
    }

    private static String readable(byte[] bytes) {
        StringBuilder text = new StringBuilder("n-");
        for (byte b : bytes) {
            char c = (char) (b & 0xff);
            if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') {
                text.append(c);
            } else {
                text.append(String.format(Locale.ROOT, "=%02x", (int) c));
            }
        }
        return text.toString();
    }

    /** With a 1 in front, so that no zero at the beginning is lost. */
    private static String compact(byte[] bytes) {
        byte[] marked = new byte[bytes.length + 1];
        marked[0] = 1;
        System.arraycopy(bytes, 0, marked, 1, bytes.length);
        return new BigInteger(marked).toString(Character.MAX_RADIX);
    }

    /** Returns the semaphore that a directory is for; empty if it is for none. */
    static Optional<String> decode(String directory) {
        byte[] bytes;
        if (READABLE.matcher(directory).matches()) {
            bytes = bytesOfReadable(directory.substring(2));
        } else if (COMPACT.matcher(directory).matches()) {
            bytes = bytesOfCompact(directory.substring(2));
        } else {
            return Optional.empty();
        }
        String name = new String(bytes, StandardCharsets.UTF_8);
        try {
            return encode(name).equals(directory) ? Optional.of(name) : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static byte[] bytesOfReadable(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '=') {
                bytes.write(Integer.parseInt(text, i + 1, i + 3, 16));
                i += 2;
            } else {
                bytes.write(text.charAt(i));
            }
        }
        return bytes.toByteArray();
    }

    private static byte[] bytesOfCompact(String text) {
        byte[] marked = new BigInteger(text, Character.MAX_RADIX).toByteArray();
        return Arrays.copyOfRange(marked, 1, marked.length);
    }
}
