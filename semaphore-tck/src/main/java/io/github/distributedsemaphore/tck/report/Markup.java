package io.github.distributedsemaphore.tck.report;

import java.util.Locale;

/** Text, numbers and times as pages and pictures write them: the same on each machine. */
final class Markup {
    private Markup() {}

    /** Text that is safe between tags and in attributes. What XML cannot hold becomes a question mark. */
    static String escape(String text) {
        StringBuilder safe = new StringBuilder(text.length());
        text.codePoints().forEach(character -> {
            switch (character) {
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '&' -> safe.append("&amp;");
                case '"' -> safe.append("&quot;");
                case '\'' -> safe.append("&#39;");
                case '\n', '\t' -> safe.append((char) character);
                default -> safe.appendCodePoint(isText(character) ? character : '?');
            }
        });
        return safe.toString();
    }

    private static boolean isText(int character) {
        return character >= ' '
                && character != 0x7f
                && Character.isDefined(character)
                && Character.getType(character) != Character.SURROGATE;
    }

    /** Fills a template: {@code %s} escaped, and {@code %.1f} as they are. */
    static String fill(String template, Object... values) {
        Object[] safe = new Object[values.length];
        for (int i = 0; i < values.length; i++) {
            safe[i] = values[i] instanceof String text ? escape(text) : values[i];
        }
        return String.format(Locale.ROOT, template, safe);
    }

    static String readable(long nanos) {
        if (nanos == Long.MAX_VALUE) {
            return "no bound";
        } else if (nanos < 1_000) {
            return nanos + " ns";
        }
        double millis = nanos / 1e6;
        if (millis >= 1000) {
            return String.format(Locale.ROOT, "%.2f s", millis / 1000);
        }
        return millis >= 1
                ? String.format(Locale.ROOT, millis >= 100 ? "%.0f ms" : "%.1f ms", millis)
                : String.format(Locale.ROOT, "%.0f us", nanos / 1e3);
    }
}
