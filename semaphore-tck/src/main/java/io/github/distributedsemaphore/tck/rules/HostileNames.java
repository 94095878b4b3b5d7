package io.github.distributedsemaphore.tck.rules;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Endings of names that an adapter may take for one another: by its escapes, by what its store does to letters, by the separators
 * and the helper objects that it adds. Each is different from each other one.
 */
final class HostileNames {
    private static final String HEX = "0123456789abcdef";
    private static final List<String> ESCAPES =
            List.of("%", "=", "_", "\\", "\\u00", "\\x", "+", "&#", "~", "^", "$", "@", "#", "!");
    private static final String SEPARATORS = "/:;.,-_|+ ~#@!*?<>()[]{}'\"`^$&=%\\";
    private static final List<String> HELPERS = List.of(
            "free", "limit", "mutex", "lock", "holders", "held", "waiters", "queue", "epochs", "lives", "names", "new",
            "tmp", "slot-1", "1", "0");

    /** Letters whose case, width or normal form a store may not tell apart. */
    private static final List<List<String>> ALIKE = List.of(
            List.of("name", "Name", "NAME", "name ", " name", "name.", "name\u00a0", "na\u200bme", "nam\uff45"),
            List.of("stra\u00dfe", "strasse", "STRASSE"),
            List.of("\u00e9", "e\u0301", "\u00c9", "E\u0301", "e"),
            List.of("i", "I", "\u0131", "\u0130", "\uff49"),
            List.of("\ufb01", "fi", "\u212b", "\u00c5", "A\u030a"),
            List.of("\ud83d\ude00", "\ud83d\ude01", "\ufffd", "??"));

    /** Where a store writes a name as a number, or looks at its first character. */
    private static final List<String> BEGINNINGS =
            List.of("\u00e9", "\u8a9e".repeat(25), "\ud83d\ude00", "%", ".", "-", "~", "\ufffd");

    /** What means something to a store, a shell, a program or a reader. */
    static final List<String> WORDS = List.of(
            "/",
            "..",
            "../x",
            "a/../b",
            "*",
            "#",
            "{x}",
            "%2F",
            "%",
            "?a=b&c",
            "a\r\nSET x 1",
            "a\r\nSET x 2",
            "tab\there",
            "nul\0nul",
            "nul\0null",
            "'quote\"",
            "back\\slash",
            "emoji \uD83D\uDD12",
            "${jndi:x}",
            "{}",
            "<b>",
            "a:b",
            "CON",
            "-rf",
            "\u202Eright to left");

    private HostileNames() {}

    /** Names with hostile characters behind a text, and before it. */
    static List<String> around(String text, Random random) {
        return Stream.concat(
                        endings(random).stream().map(ending -> text + ending),
                        BEGINNINGS.stream().map(beginning -> beginning + text))
                .toList();
    }

    /** All families, of each of them everything or, where that is much, a part that the seed chooses. */
    private static Set<String> endings(Random random) {
        Set<String> endings = new LinkedHashSet<>();
        escapesWithoutAWidth(endings, random);
        escapesOfEscapes(endings, random);
        ALIKE.forEach(endings::addAll);
        separators(endings, random);
        HELPERS.forEach(helper -> endings.add(separator(random) + helper));
        return endings;
    }

    /** What is written in one digit, with another behind it, looks like one that is written in two. */
    private static void escapesWithoutAWidth(Set<String> endings, Random random) {
        for (int high = 1; high < 16; high++) {
            int low = random.nextInt(16);
            endings.add(Character.toString(high) + HEX.charAt(low));
            endings.add(Character.toString(high * 16 + low));
        }
        for (int high : new int[] {0x2f, 0xe9, 0x123, 0xfff}) {
            int low = random.nextInt(16);
            endings.add(Character.toString(high) + HEX.charAt(low));
            endings.add(Character.toString(high * 16 + low));
        }
    }

    /** What a character is written as may be a name too. */
    private static void escapesOfEscapes(Set<String> endings, Random random) {
        for (String escape : ESCAPES) {
            char c = SEPARATORS.charAt(random.nextInt(SEPARATORS.length()));
            endings.add("x" + c);
            endings.add("x" + escape);
            byte[] bytes = Character.toString(c).getBytes(StandardCharsets.UTF_8);
            endings.add("x" + escape + String.format("%02x", (int) bytes[0]));
            endings.add("x" + escape + String.format("%02X", (int) bytes[0]));
        }
    }

    private static void separators(Set<String> endings, Random random) {
        for (int i = 0; i < 4; i++) {
            String separator = separator(random);
            endings.add("a" + separator + "b:c");
            endings.add("a:b" + separator + "c");
            endings.add("a" + separator);
            endings.add("a" + separator + separator);
        }
    }

    private static String separator(Random random) {
        return String.valueOf(SEPARATORS.charAt(random.nextInt(SEPARATORS.length())));
    }
}
