package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;

/**
 * The content of a slot's file: the epochs that were used, and the process that took the slot last. Whether that process still holds it
 * says the lock, not the record.
 *
 * @param base the block that the epochs are of
 * @param epoch the first epoch of the last holder; below the base if there was none yet in this block
 * @param last its last epoch
 * @param holder the process that took it
 * @param since when it took the slot, by the wall clock
 */
record SlotRecord(long base, long epoch, long last, HolderInfo holder, Instant since) {
    private static final String KIND = "slot";
    private static final int VERSION = 1;
    /** Less than a page of memory, so that a killed process leaves the old record or the new one, never half. */
    private static final int SIZE = 2048;

    private static final int MAX_HOST = 255;

    /** Returns the record of a slot that nobody has had. */
    static SlotRecord unused(long base) {
        return new SlotRecord(
                base, Math.max(0, base - 1), Math.max(0, base - 1), new HolderInfo("", 0, ""), Instant.EPOCH);
    }

    void write(RandomAccessFile file) throws IOException {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("epochs", base);
        values.put("first", epoch);
        values.put("last", last);
        values.put("pid", holder.pid());
        values.put("since", since.toEpochMilli());
        values.put("host", shortHost());
        values.put("label", holder.label());
        byte[] text = StoredText.write(KIND, VERSION, values).getBytes(StandardCharsets.UTF_8);
        byte[] check = ("crc=" + crc(text, text.length) + "\n").getBytes(StandardCharsets.US_ASCII);
        byte[] record = new byte[SIZE];
        Arrays.fill(record, (byte) ' ');
        System.arraycopy(text, 0, record, 0, text.length);
        System.arraycopy(check, 0, record, text.length, check.length);
        record[SIZE - 1] = '\n';
        file.seek(0);
        file.write(record);
    }

    private String shortHost() {
        String printable = holder.host().replaceAll("\\p{Cntrl}", "?");
        return printable.length() > MAX_HOST ? printable.substring(0, MAX_HOST) : printable;
    }

    private static String crc(byte[] bytes, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, length);
        return Long.toHexString(crc.getValue());
    }

    /** Reads it; empty if it is damaged or there is none. */
    static Optional<SlotRecord> read(RandomAccessFile file) throws IOException {
        byte[] record = new byte[SIZE];
        file.seek(0);
        int length = 0;
        for (int n = 0; n >= 0 && length < SIZE; n = file.read(record, length, SIZE - length)) {
            length += n;
        }
        String text = new String(record, 0, length, StandardCharsets.UTF_8);
        int check = text.lastIndexOf("\ncrc=");
        int end = text.indexOf('\n', check + 1);
        if (check < 0 || end < 0) {
            return Optional.empty();
        }
        byte[] body = text.substring(0, check + 1).getBytes(StandardCharsets.UTF_8);
        String expected = "crc=" + crc(body, body.length);
        return text.substring(check + 1, end).equals(expected)
                ? StoredText.read(KIND, VERSION, text.substring(0, check + 1)).flatMap(SlotRecord::from)
                : Optional.empty();
    }

    private static Optional<SlotRecord> from(StoredText text) {
        try {
            HolderInfo holder = new HolderInfo(text.text("host"), text.number("pid"), text.text("label"));
            SlotRecord record = new SlotRecord(
                    text.number("epochs"),
                    text.number("first"),
                    text.number("last"),
                    holder,
                    Instant.ofEpochMilli(text.number("since")));
            return record.base < 0 || record.last < 0 ? Optional.empty() : Optional.of(record);
        } catch (IllegalArgumentException | DateTimeException e) {
            return Optional.empty();
        }
    }
}
