package io.github.distributedsemaphore.cli.demo;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A line every second, for logs. */
final class PlainScreen implements Screen {
    private final PrintWriter out;
    private int nextSecond;
    private int newsShown;

    PlainScreen(PrintWriter out) {
        this.out = out;
    }

    @Override
    public void show(Picture picture) {
        picture.news().stream().skip(newsShown).forEach(line -> print(picture, line));
        newsShown = picture.news().size();
        if (picture.seconds() >= nextSecond) {
            nextSecond = (int) picture.seconds() + 1;
            print(picture, slots(picture) + "waiting: " + waiting(picture));
        }
    }

    private void print(Picture picture, String line) {
        out.println(String.format(Locale.ROOT, "%6.1f s  %s", picture.seconds(), line));
        out.flush();
    }

    private static String slots(Picture picture) {
        return IntStream.rangeClosed(1, Demo.SLOTS)
                .mapToObj(slot -> "slot " + slot + ": " + holder(picture, slot) + "  ")
                .collect(Collectors.joining());
    }

    private static String holder(Picture picture, int slot) {
        Turn turn = picture.holders().get(slot);
        if (turn == null) {
            return "free    ";
        }
        return (turn.isOpen() ? "worker " : "killed ") + turn.worker();
    }

    private static String waiting(Picture picture) {
        return picture.waiting().isEmpty()
                ? "nobody"
                : picture.waiting().stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    @Override
    public void close() {
        out.flush();
    }
}
