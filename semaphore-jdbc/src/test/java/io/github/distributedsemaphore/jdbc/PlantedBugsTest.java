package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.planted.PlantedBug;
import io.github.distributedsemaphore.tck.planted.PlantedRun;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The kit finds mistakes in this adapter and in what it is built on. By {@code ./verify planted}: some minutes. */
class PlantedBugsTest {
    private static final List<PlantedBug> BUGS = List.of(
            PlantedBug.of(
                    "a write of unknown outcome is called unavailable",
                    "1.7",
                    "of which was said that it changed nothing",
                    "semaphore-jdbc",
                    "jdbc/Connections.java",
                    "Dialect.translated(e, changes, where)",
                    "Dialect.translated(e, false, where)"),
            in(
                    "versions are counted, and begin again with a new row",
                    "8.12",
                    "after destroy, create and",
                    "JdbcStore.java",
                    "1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE - 1)",
                    "(ThreadLocalRandom.current() == null ? 0 : change.expected() + 1)"),
            in(
                    "hints of names with escapes are not heard",
                    "12.2",
                    "does not reach who waits",
                    "JdbcStore.java",
                    "hints.watch(stored(name), hint)",
                    "hints.watch(name, hint)"),
            support(
                    "the end of a lease is judged by the clock of a late answer",
                    "1.10",
                    "how long a holder said to be valid",
                    "CasRow.java",
                    "if (one.end() > clock && held.put",
                    "if (one.end() > now && held.put"),
            support(
                    "a grant that is found out later is not extended",
                    "5.4",
                    "how long a holder said to be valid",
                    "CasSession.java",
                    "for (Hold hold : granted.holds()) { Object unused = all ? row.extend(id, hold) : row.giveBack(id, hold); }",
                    "if (!all) { granted.holds().forEach(hold -> row.giveBack(id, hold)); }"),
            support(
                    "each renewal moves the time since when a slot is held",
                    "9.1",
                    "since when a slot is held, after a renewal",
                    "CasRow.java",
                    "return new Held(session, hold, end, one.since(), one.who());",
                    "return new Held(session, hold, end, clock, one.who());"),
            support(
                    "validity is counted from the answer",
                    "5.4",
                    "the longest validity that is left",
                    "CasBackend.java",
                    "return Deadline.after(seen.sent(), Duration",
                    "return Deadline.after(System.nanoTime(), Duration"),
            support(
                    "a client that waits does not say so again in time",
                    "2.1",
                    "had waited for five seconds",
                    "CasSession.java",
                    ".recheck(backend.recheck(outcome).earlier(nextLook(plan)))",
                    ".recheck(backend.recheck(outcome))"),
            in(
                    "idle connections stay when the client closes",
                    "16.1",
                    "the connections of a client",
                    "Connections.java",
                    "threads.execute(() -> endIdle(this::giveBack));",
                    ""),
            support(
                    "of many holds the first hundred are renewed",
                    "6.1",
                    "slots that are renewed",
                    "CasSession.java",
                    "row -> holds.forEach(hold -> states.put(hold, row.extend(id, hold))));",
                    "row -> holds.stream().limit(100).forEach(hold -> states.put(hold, row.extend(id, hold))));"),
            support(
                    "an abort gives back what the client holds",
                    "2.2",
                    "which says nothing to the backend",
                    "CasSession.java",
                    "public void abort() { ended = true; }",
                    "public void abort() { close(); }"),
            support(
                    "a holder is shown as the process that looks",
                    "9.1",
                    "the process of a holder elsewhere",
                    "CasAdmin.java",
                    "one.who().pid(),",
                    "ProcessHandle.current().pid(),"),
            in(
                    "a list that failed is taken for an empty one",
                    "13.1",
                    "names() returned",
                    "JdbcStore.java",
                    "if (!Dialect.isMissingTable(e)) { throw e; } } return found;",
                    "if (!Dialect.isMissingTable(e)) { found.clear(); } } return found;"),
            in(
                    "a client connects when it is made",
                    "13.1",
                    "that is made while the backend is out of reach",
                    "JdbcSemaphores.java",
                    "PostgresHints hints = settings.poll().isZero()",
                    """
                    boolean there = connections.with(connections.deadline(), false, connection -> connection.isValid(1));
                    PostgresHints hints = there && settings.poll().isZero()
                    """),
            support(
                    "two destroys at once both say that there was a semaphore",
                    "8.12",
                    "destroys at once",
                    "CasAdmin.java",
                    "existed[0] = row.limit != 0;",
                    "existed[0] |= row.limit != 0;"),
            support(
                    "what a client waits for stays what it wanted first",
                    "11.2",
                    "behind a large request that had left",
                    "CasRow.java",
                    "if (enters || lapses || (known != null && known.permits() != permits)) {",
                    "if (enters || lapses) {"),
            support(
                    "one damaged row keeps all names from being listed",
                    "12.4",
                    "beside one that is damaged",
                    "CasAdmin.java",
                    """
                    try {
                        CasRow row = CasRow.parse(name, entry, entry.clockMillis(), entry.clockMillis(), 0);
                        if (row.isGone()) {
                            backend.tendLater(name, OptionalLong.of(0));
                        }
                        return row.limit != 0;
                    } catch (IncompatibleStateException e) {
                        return true;
                    }
                    """,
                    "return CasRow.parse(name, entry, entry.clockMillis(), entry.clockMillis(), 0).limit != 0;"),
            support(
                    "since when a slot is held is not told",
                    "9.1",
                    "since when a slot is held whose holder lives",
                    "CasAdmin.java",
                    "Instant.ofEpochMilli(one.since()),",
                    "null,"),
            in(
                    "each idle connection fails a call after a cut",
                    "13.1",
                    "after the link was cut once",
                    "Connections.java",
                    "endIdle(Connections::abort); abort(connection);",
                    "abort(connection);"),
            support(
                    "a release compares no epochs",
                    "4.4",
                    "successor in the same client",
                    "CasRow.java",
                    "if (state(session, hold) == HoldState.LOST) { refused = true; return false; } held.remove(hold.slot());",
                    """
                    Held one = held.get(hold.slot());
                    if (one == null || !one.session().equals(session)) { refused = true; return false; }
                    held.remove(hold.slot());
                    """),
            support(
                    "a place says what the last caller wants",
                    "11.4",
                    "clients of which 0 also wants two permits",
                    "CasSession.java",
                    "if (goesOn && answer == Answer.FULL && !waits) {",
                    "if (goesOn && answer == Answer.FULL) {"),
            support(
                    "a grant to another thread gives up the place",
                    "11.4",
                    "of which 0 was granted one meanwhile",
                    "CasRow.java",
                    "if (waits) { leave(session); }",
                    "leave(session);"),
            support(
                    "epochs run ahead of the clock, and nothing stays of what was destroyed",
                    "7.2",
                    "granted while the link stalled",
                    "CasRow.java",
                    "long first = Math.max(lastEpoch + 1, earliest * EPOCHS_PER_MILLI);",
                    "long first = Math.max(lastEpoch + 1, now * EPOCHS_PER_MILLI);",
                    "if (isGone() && millisAheadOfClock() == 0) { return",
                    "if (isGone()) { return"));

    @TempDir
    Path folder;

    private static PlantedBug support(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-api", "spi/support/" + source, oldAndNew);
    }

    private static PlantedBug in(String name, String rule, String message, String source, String... oldAndNew) {
        return PlantedBug.of(name, rule, message, "semaphore-jdbc", "jdbc/" + source, oldAndNew);
    }

    @TestFactory
    Stream<DynamicTest> theKitFindsWhatIsPlanted() {
        return new PlantedRun(PostgresTckTest.class, folder).tests(BUGS);
    }
}
