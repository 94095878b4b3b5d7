package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * The slots of one semaphore, as its table file shows them at one moment. Under the semaphore's mutex its answers are exact.
 *
 * <p>The table has an entry for each slot: the session that took the slot last and has not given it back, and the epochs that the
 * session got. A session is the number of a byte, far beyond the end of the file, which it keeps locked while it lives. A slot is
 * held exactly as long as the byte that its entry names is locked: the operating system unlocks the bytes of a process that ends,
 * however it ends. The byte at 0 is the mutex, and {@link SharedSemaphore} has those of processes that wait.
 *
 * <p>Whatever is damaged in a table is taken for free slots whose epochs nobody knows, as if somebody had removed the table.
 */
final class SlotTable {
    static final String NAME = "table";
    static final int MAX_SLOTS = 10_000;

    /** The session of a slot that was given back. */
    static final long NOBODY = 0;

    /** What an entry says of epochs that are not known. */
    static final long UNKNOWN = -1;

    /** The bytes from here to twice that belong to sessions. */
    private static final long SESSIONS = 1L << 61;

    /** Begins the file: "semtable". */
    private static final long MAGIC = 0x73656d7461626c65L;

    /** An entry does not cross a page of memory, so that a killed process leaves the old one or the new one, never half. */
    private static final int ENTRY = 32;

    private static final int FIRST = 8;
    private static final int LAST = 16;
    private static final int CHECK = 24;

    /** Where it says what the sessions call themselves, so many bytes for each slot. */
    private static final long HOLDERS = 1L << 19;

    private static final int HOLDER = 1024;
    private static final int MAX_HOST = 255;

    private final LockFile file;
    private final ByteBuffer entries;
    private final Map<Long, Boolean> alive = new HashMap<>();
    private int slots;

    private SlotTable(LockFile file, ByteBuffer entries, int slots) {
        this.file = file;
        this.entries = entries;
        this.slots = slots;
    }

    /** Reads the entries of slots 1 to {@code highest}. */
    static SlotTable read(LockFile file, int highest) throws IOException {
        ByteBuffer entries = ByteBuffer.wrap(file.read(0, (highest + 1) * ENTRY));
        long slots = entries.getLong(FIRST);
        boolean sound = entries.getLong(0) == MAGIC && slots >= 0 && slots <= MAX_SLOTS;
        return new SlotTable(file, entries, sound ? (int) slots : 0);
    }

    /** Reads the entries of all slots that the table has, and of slots 1 to {@code least} at least. */
    static SlotTable readAll(LockFile file, int least) throws IOException {
        SlotTable table = read(file, least);
        // Without the mutex it may grow before it is read again.
        while (table.slots > table.highest()) {
            table = read(file, table.slots);
        }
        return table;
    }

    /** Returns up to which slot the entries were read. */
    private int highest() {
        return entries.capacity() / ENTRY - 1;
    }

    LockFile file() {
        return file;
    }

    /** Returns a session that nobody else is. */
    static long newSession() {
        return ThreadLocalRandom.current().nextLong(SESSIONS, 2 * SESSIONS);
    }

    /** Returns the session that took a slot last, {@link #NOBODY} if it gave it back. */
    long session(int slot) {
        return entries.getLong(slot * ENTRY);
    }

    boolean isHeld(int slot) throws IOException {
        return isAlive(session(slot));
    }

    private boolean isAlive(long session) throws IOException {
        if (session < SESSIONS || session >= 2 * SESSIONS) {
            return false;
        }
        Boolean known = alive.get(session);
        if (known == null) {
            known = file.isLocked(session, 1);
            alive.put(session, known);
        }
        return known;
    }

    /** Tells whether a session has a hold, if it lives. */
    boolean has(Hold hold, long session) {
        return session(hold.slot()) == session && entries.getLong(hold.slot() * ENTRY + FIRST) == hold.epoch();
    }

    /** Returns what a session has, if it lives. */
    List<Hold> holdsOf(long session) {
        return IntStream.rangeClosed(1, slots)
                .filter(slot -> session(slot) == session && lastEpoch(slot) != UNKNOWN)
                .mapToObj(slot -> new Hold(slot, entries.getLong(slot * ENTRY + FIRST), lastEpoch(slot)))
                .toList();
    }

    /** Returns how many slots above a number are held. */
    int heldAbove(int slot) throws IOException {
        int held = 0;
        for (int above = slot + 1; above <= slots; above++) {
            held += isHeld(above) ? 1 : 0;
        }
        return held;
    }

    /** Returns the last epoch that a slot has had; {@link #UNKNOWN} if the entry is damaged or missing. */
    long lastEpoch(int slot) {
        long first = entries.getLong(slot * ENTRY + FIRST);
        long last = entries.getLong(slot * ENTRY + LAST);
        return entries.getLong(slot * ENTRY + CHECK) == check(slot, first, last) ? last : UNKNOWN;
    }

    private static long check(int slot, long first, long last) {
        CRC32 crc = new CRC32();
        crc.update(ByteBuffer.allocate(CHECK)
                .putLong(slot)
                .putLong(first)
                .putLong(last)
                .flip());
        return crc.getValue() ^ MAGIC;
    }

    /** Returns who holds slots, those above the limit as retired. */
    List<Holder> holders(int limit) throws IOException {
        List<Holder> holders = new ArrayList<>();
        for (int slot = 1; slot <= Math.max(limit, slots); slot++) {
            if (isHeld(slot)) {
                holders.add(holder(slot, slot <= limit ? HolderState.HELD : HolderState.RETIRED));
            }
        }
        return holders;
    }

    private Holder holder(int slot, HolderState state) throws IOException {
        long epoch = entries.getLong(slot * ENTRY + FIRST);
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(file.read(holderAt(slot), HOLDER)))) {
            Instant since = Instant.ofEpochMilli(in.readLong());
            long pid = in.readLong();
            return new Holder(slot, epoch, in.readUTF(), pid, in.readUTF(), pid == 0 ? null : since, state);
        } catch (UTFDataFormatException | EOFException e) {
            return new Holder(slot, epoch, "", 0, "", null, state);
        }
    }

    private static long holderAt(int slot) {
        return HOLDERS + (long) slot * HOLDER;
    }

    /** Makes those entries of slots 1 to {@code limit} that are missing; their epochs begin at a number. */
    void prepare(int limit, long epoch) throws IOException {
        long none = Math.max(0, epoch - 1);
        for (int slot = 1; slot <= limit; slot++) {
            if (lastEpoch(slot) == UNKNOWN) {
                // Takes the room on the disk that a holder will need.
                file.write(holderAt(slot), new byte[HOLDER]);
                write(slot, session(slot), none, none);
            }
        }
    }

    /** Stores that a session has a hold. */
    void take(Hold hold, long session, HolderInfo self) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeLong(Instant.now().toEpochMilli());
        out.writeLong(self.pid());
        String host = self.host().replaceAll("[^\\x20-\\x7e]", "?");
        out.writeUTF(host.substring(0, Math.min(host.length(), MAX_HOST)));
        out.writeUTF(self.label());
        file.write(holderAt(hold.slot()), bytes.toByteArray());
        write(hold.slot(), session, hold.epoch(), hold.lastEpoch());
    }

    private void write(int slot, long session, long first, long last) throws IOException {
        if (slot > slots) {
            slots = slot;
            file.write(
                    0, ByteBuffer.allocate(LAST).putLong(MAGIC).putLong(slots).array());
        }
        restore(
                slot,
                ByteBuffer.allocate(ENTRY)
                        .putLong(session)
                        .putLong(first)
                        .putLong(last)
                        .putLong(check(slot, first, last))
                        .array());
    }

    /** Tells whether the file has such an entry of a slot now. */
    boolean isStored(int slot, byte[] entry) throws IOException {
        return Arrays.equals(file.read((long) slot * ENTRY, ENTRY), entry);
    }

    /** Returns the entry of a slot, for {@link #restore}. */
    byte[] entry(int slot) {
        byte[] entry = new byte[ENTRY];
        entries.get(slot * ENTRY, entry);
        return entry;
    }

    void restore(int slot, byte[] entry) throws IOException {
        file.write((long) slot * ENTRY, entry);
        entries.put(slot * ENTRY, entry);
    }

    /** Gives a slot to a session, or to {@link #NOBODY}, and leaves its epochs. */
    void setSession(int slot, long session) throws IOException {
        file.write(
                (long) slot * ENTRY,
                ByteBuffer.allocate(Long.BYTES).putLong(session).array());
        entries.putLong(slot * ENTRY, session);
    }

    /** Tells whether any slot was given back and not taken since; slots above the limit count as well. */
    boolean hasGivenBack() {
        for (int slot = 1; slot <= slots; slot++) {
            if (session(slot) == NOBODY) {
                return true;
            }
        }
        return false;
    }
}
