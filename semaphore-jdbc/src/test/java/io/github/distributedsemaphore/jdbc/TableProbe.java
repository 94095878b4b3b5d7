package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.UnaryOperator;

/** The table past the adapter, by an operator's connection. */
final class TableProbe implements StateProbe {
    private final DatabaseServer server;
    private final Dialect dialect;
    private final String table;

    TableProbe(DatabaseServer server, Dialect dialect, String table) {
        this.server = server;
        this.dialect = dialect;
        this.table = table;
    }

    Leftovers leftovers() {
        Map<String, Long> sizes = new HashMap<>();
        for (String row : server.query("SELECT CONCAT(length(state), ' ', name) FROM " + table)) {
            sizes.put(row.substring(row.indexOf(' ') + 1), Long.parseLong(row.substring(0, row.indexOf(' '))));
        }
        return Leftovers.of(sizes);
    }

    private String quoted(String name) {
        return "'"
                + JdbcStore.stored(name)
                        .replace("\\", dialect == Dialect.MARIADB ? "\\\\" : "\\")
                        .replace("'", "''") + "'";
    }

    private String where(String name) {
        return " WHERE name = " + quoted(name);
    }

    private String stored(String name) {
        List<String> found = server.query("SELECT state FROM " + table + where(name));
        if (found.isEmpty()) {
            throw new IllegalStateException("nothing is stored for " + name);
        }
        return found.get(0);
    }

    private void store(String name, String state) {
        long version = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
        server.execute("UPDATE " + table + " SET version = " + version + ", state = '" + state + "'" + where(name));
    }

    private void change(String name, UnaryOperator<String> change) {
        String before = stored(name);
        String after = change.apply(before);
        if (after.equals(before)) {
            throw new IllegalStateException("nothing changed in " + before);
        }
        store(name, after);
    }

    @Override
    public void wipe(String name) {
        server.execute("DELETE FROM " + table + where(name));
    }

    @Override
    public void removeHolder(String name, int slot) {
        change(name, state -> state.replaceFirst("\nhold " + slot + " [^\n]*", ""));
    }

    @Override
    public List<String> corruptions() {
        return List.of(
                "garbage",
                "empty",
                "newer format",
                "no limit",
                "negative limit",
                "half a holder",
                "unknown line",
                "two holders");
    }

    @Override
    public void corrupt(String name, String kind) {
        String holder = "\nhold 1 5 6 abc 9999999999999 1 1 h l";
        change(name, state -> switch (kind) {
            case "garbage" -> "garbage";
            case "empty" -> "";
            case "newer format" -> state.replace("semaphore/1", "semaphore/2");
            case "no limit" -> "semaphore/1 x 1";
            case "negative limit" -> "semaphore/1 -3 1";
            case "half a holder" -> state + "\nhold 1";
            case "unknown line" -> state + "\nsleep abc 9999999999999 1";
            default -> state + holder + holder;
        });
    }

    @Override
    public void plantEpoch(String name, long epoch) {
        throw new HookMissingException(
                "StateProbe.plantEpoch: epochs follow the server's clock, which nobody can set here");
    }

    @Override
    public void plantSlots(String name, int more) {
        change(name, state -> {
            int limit = Integer.parseInt(state.split("[ \n]")[1]);
            StringBuilder text = new StringBuilder(state);
            for (int slot = limit + 1; slot <= limit + more; slot++) {
                text.append("\nhold ").append(slot).append(" 1 1 planted 1 1 1 host label");
            }
            return text.toString();
        });
    }

    @Override
    public void occupy(String name) {
        server.execute(
                dialect.schema(table),
                "INSERT INTO " + table + " VALUES (" + quoted(name) + ", 7, 'something foreign')");
    }

    @Override
    public String occupant(String name) {
        return stored(name);
    }

    @Override
    public void remove(String name) {
        wipe(name);
    }
}
