package io.github.distributedsemaphore.cli.live;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The keys of a terminal: what is typed as text, others by a name in brackets. For one thread. */
final class Keys {
    static final String UP = "<up>";
    static final String DOWN = "<down>";
    static final String ENTER = "<enter>";
    static final String ESCAPE = "<escape>";
    static final String BACKSPACE = "<backspace>";
    static final String CONTROL_C = "<control-c>";
    static final String END_OF_INPUT = "<end>";
    private static final String OTHER = "<other>";

    private static final Map<Integer, String> CONTROLS = Map.of(
            -1,
            END_OF_INPUT,
            3,
            CONTROL_C,
            4,
            END_OF_INPUT,
            8,
            BACKSPACE,
            '\n' + 0,
            ENTER,
            '\r' + 0,
            ENTER,
            127,
            BACKSPACE);

    private final InputStream in;

    Keys(InputStream in) {
        this.in = in;
    }

    static boolean isText(String key) {
        return key.codePointCount(0, key.length()) == 1;
    }

    /** Waits for the next key. An escape that nothing follows at once is the key of that name. */
    String next() throws IOException {
        int first = in.read();
        String control = CONTROLS.get(first);
        if (control != null) {
            return control;
        }
        if (first == 27) {
            return in.available() == 0 ? ESCAPE : sequence();
        }
        return first < 32 ? OTHER : text(first);
    }

    /** What follows an escape: [ or O, parameters, and a letter. */
    private String sequence() throws IOException {
        int kind = in.read();
        if (kind != '[' && kind != 'O') {
            return OTHER;
        }
        int last;
        do {
            last = in.read();
        } while (last >= '0' && last <= '?' && in.available() > 0);
        return switch (last) {
            case 'A' -> UP;
            case 'B' -> DOWN;
            default -> OTHER;
        };
    }

    private String text(int first) throws IOException {
        int length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        byte[] bytes = new byte[length];
        bytes[0] = (byte) first;
        int read = in.readNBytes(bytes, 1, length - 1);
        return new String(bytes, 0, 1 + read, StandardCharsets.UTF_8);
    }
}
