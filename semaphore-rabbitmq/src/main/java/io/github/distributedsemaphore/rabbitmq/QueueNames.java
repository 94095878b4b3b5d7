package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The names of a semaphore's queues, in the words of the specification: A[i] is slot i, B[i] its hold.
 *
 * <p>They are read from the right, where a kind and a number stand that hold no colon, so whatever colons a name has, no two
 * queues of different semaphores or kinds are called the same.
 */
final class QueueNames {
    /** The beginning of the names of all queues. */
    static final String PREFIX = RabbitSettings.QUEUE_PREFIX;

    /** The highest limit: a look at all slots there could be is a thousand probes, and making them takes seconds. */
    static final int MAX_SLOTS = 1_000;

    /** A queue's name has at most 255 bytes, see AMQP 0-9-1, short strings. */
    static final int MAX_NAME_BYTES =
            255 - PREFIX.length() - ":a:".length() - Integer.toString(MAX_SLOTS).length();

    private static final int MAX_STREAM_BYTES = 100;

    private static final Pattern NUMBER = Pattern.compile("\\d{1,4}");

    private static final Pattern UNSAFE = Pattern.compile("%|[^ -~]");

    private final String semaphore;
    private final String encoded;

    QueueNames(String semaphore) {
        this.semaphore = semaphore;
        this.encoded = encode(semaphore);
    }

    /**
     * The percent sign and everything but printable ASCII are written as the percent sign and two digits for each byte of UTF-8.
     * A broker strips line ends from the name of a queue that it declares, so that two names would become one. And RabbitMQ 4.3
     * cuts the text of an error, which has the queue's name in it, after 255 characters instead of bytes, and then ends the
     * connection because that is too long. What gets too long by that is replaced by two percent signs and its SHA-256.
     */
    private static String encode(String semaphore) {
        String escaped = UNSAFE.matcher(semaphore).replaceAll(match -> escape(match.group()));
        return size(escaped) <= MAX_NAME_BYTES ? escaped : hash(semaphore);
    }

    private static String escape(String text) {
        return HexFormat.of().withUpperCase().withPrefix("%").formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static int size(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    private static String hash(String semaphore) {
        try {
            MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
            return "%%" + HexFormat.of().formatHex(sha256.digest(semaphore.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** The name of the semaphore. */
    String semaphore() {
        return semaphore;
    }

    /** With what a message about the semaphore begins. */
    String subject() {
        return "Semaphore '" + semaphore + "'";
    }

    /** The name as it stands in the names of queues. */
    String encoded() {
        return encoded;
    }

    /** A[slot], durable: there is such a slot. */
    String slot(int slot) {
        return PREFIX + encoded + ":a:" + slot;
    }

    /** B[slot], exclusive: somebody holds it. */
    String hold(int slot) {
        return PREFIX + encoded + ":b:" + slot;
    }

    /** The slot that a queue is the hold of; 0 if it is none of this semaphore. */
    int slotOfHold(String queue) {
        String holds = PREFIX + encoded + ":b:";
        String number = queue.startsWith(holds) ? queue.substring(holds.length()) : "";
        return slotIn(number);
    }

    /** The slot that a text says; 0 if it says none that there can be. */
    static int slotIn(String text) {
        int number = NUMBER.matcher(text).matches() ? Integer.parseInt(text) : 0;
        return number <= MAX_SLOTS ? number : 0;
    }

    /** The administration mutex, exclusive. */
    String mutex() {
        return PREFIX + encoded + ":m";
    }

    /** The client that takes several slots at once has it meanwhile, exclusive. */
    String collector() {
        return PREFIX + encoded + ":c";
    }

    /** Where the broker finds a client that waits. */
    String waiters() {
        return PREFIX + encoded + ":w";
    }

    /** Where the holders of a block have consumers. Its last slot tells the first, and a longer name would not fit. */
    String count(SlotBlock block) {
        return PREFIX + encoded + ":n:" + block.last();
    }

    /** The stream whose offsets are the epochs. The broker has a folder for it, so its name may not be as long as a queue's. */
    String fences() {
        return PREFIX + (size(encoded) <= MAX_STREAM_BYTES ? encoded : hash(semaphore)) + ":f";
    }

    List<String> slots(int from, int to) {
        return IntStream.rangeClosed(from, to).mapToObj(this::slot).toList();
    }

    List<String> holds(List<Integer> slots) {
        return new ArrayList<>(slots.stream().map(this::hold).toList());
    }
}
