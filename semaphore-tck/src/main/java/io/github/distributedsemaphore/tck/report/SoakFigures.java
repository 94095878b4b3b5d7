package io.github.distributedsemaphore.tck.report;

import static io.github.distributedsemaphore.tck.report.Markup.fill;

import com.google.gson.GsonBuilder;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What was counted at the end of each minute of a soak. Not thread-safe. */
public final class SoakFigures {
    /** Resident memory is shown only: an allocator gives back what it likes. */
    private static final List<String> SHOWN = List.of("grants", "other client: memory, KB", "server: memory, KB");

    private static final String HEAP = "this client: heap in use, KB";
    /** What may be there at one look and not at another, such as a connection that is being renewed. */
    private static final long TO_AND_FRO = 3;

    private static final long HEAP_TO_AND_FRO = 2_048;
    private static final int FEWEST = 9;

    private final String backend;
    private final Map<String, List<Long>> series = new LinkedHashMap<>();

    /**
     * Begins without a minute.
     *
     * @param backend of which version it is
     */
    public SoakFigures(String backend) {
        this.backend = backend;
    }

    /**
     * Counts.
     *
     * @param other the process of the client in another JVM
     * @param stored what is stored
     * @param grants how many permits were granted in the last minute
     */
    public void look(long other, Leftovers stored, long grants) {
        add("grants", grants);
        add(HEAP, heap());
        add("this client: threads", Thread.getAllStackTraces().size());
        add("this client: descriptors", descriptors(ProcessHandle.current().pid()));
        add("other client: memory, KB", status(other, "VmRSS:"));
        add("other client: threads", status(other, "Threads:"));
        add("other client: descriptors", descriptors(other));
        List<Long> server = ProcessHandle.current()
                .descendants()
                .filter(process -> process.info()
                        .command()
                        .filter(it -> !it.endsWith("java"))
                        .isPresent())
                .map(ProcessHandle::pid)
                .toList();
        if (!server.isEmpty()) {
            addServer(server);
        }
        add("stored: things", stored.things().size());
        add("stored: their sizes", sum(stored.sizes().values().stream()));
    }

    private void addServer(List<Long> server) {
        add("server: memory, KB", sum(server.stream().map(pid -> status(pid, "VmRSS:"))));
        add("server: threads", sum(server.stream().map(pid -> status(pid, "Threads:"))));
        add("server: descriptors", sum(server.stream().map(SoakFigures::descriptors)));
    }

    void add(String name, long value) {
        series.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
    }

    private static long sum(Stream<Long> values) {
        return values.mapToLong(Long::longValue).sum();
    }

    private static long heap() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return (runtime.totalMemory() - runtime.freeMemory()) / 1_024;
    }

    private static long status(long pid, String field) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/" + pid + "/status"))) {
            return lines.filter(line -> line.startsWith(field))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
        } catch (IOException e) {
            return 0; // It has just ended, or this is not Linux.
        }
    }

    private static long descriptors(long pid) {
        try (Stream<Path> open = Files.list(Path.of("/proc/" + pid + "/fd"))) {
            return open.count();
        } catch (IOException e) {
            return 0;
        }
    }

    /**
     * Compares the last third with the first, by their medians. The first tenth is left out, in which caches fill and code is compiled.
     *
     * @return a sentence for each series that grew; empty if there are too few minutes to tell
     */
    public List<String> grown() {
        List<String> grown = new ArrayList<>();
        series.forEach((name, values) -> {
            List<Long> warm = values.subList(values.size() / 10, values.size());
            int third = warm.size() / 3;
            if (warm.size() < FEWEST || SHOWN.contains(name)) {
                return;
            }
            long first = median(warm.subList(0, third));
            long last = median(warm.subList(warm.size() - third, warm.size()));
            if (last > first + (name.equals(HEAP) ? HEAP_TO_AND_FRO : TO_AND_FRO)) {
                grown.add(name + " grew from " + first + " to " + last);
            }
        });
        return grown;
    }

    private int minutes() {
        return series.values().iterator().next().size();
    }

    private static long median(List<Long> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }

    /**
     * Writes {@code soak.json} and {@code soak.svg}.
     *
     * @param folder where to; it is made
     * @throws IOException if that fails
     */
    public void write(Path folder) throws IOException {
        Files.createDirectories(folder);
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("backend", backend);
        report.put("minutes", minutes());
        report.put("grown", grown());
        report.put("series", series);
        Files.writeString(
                folder.resolve("soak.json"),
                new GsonBuilder().disableHtmlEscaping().create().toJson(report).replace("],\"", "],\n\"") + "\n");
        Files.writeString(folder.resolve("soak.svg"), picture());
    }

    /** A strip for each series, from zero to its greatest value. */
    private String picture() {
        int row = 44;
        StringBuilder svg = new StringBuilder(fill("""
                        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 %d" font-family="sans-serif" font-size="11">
                        <rect width="100%%" height="100%%" fill="white"/>
                        <text x="4" y="16" font-weight="bold">%s, %d minutes</text>
                        """, 24 + row * series.size(), backend, minutes()));
        int bottom = 24;
        for (Map.Entry<String, List<Long>> entry : series.entrySet()) {
            bottom += row;
            svg.append(strip(entry.getKey(), entry.getValue(), bottom - 6));
        }
        return svg.append("</svg>\n").toString();
    }

    private static String strip(String name, List<Long> values, int bottom) {
        long most = Math.max(1, values.stream().mapToLong(Long::longValue).max().orElseThrow());
        long least = values.stream().mapToLong(Long::longValue).min().orElseThrow();
        StringBuilder points = new StringBuilder();
        for (int i = 0; i < values.size(); i++) {
            double x = 200 + 580.0 * i / Math.max(1, values.size() - 1);
            points.append(fill("%.1f,%.1f ", x, bottom - 32.0 * values.get(i) / most));
        }
        return fill(
                "<text x=\"4\" y=\"%d\">%s</text><text x=\"4\" y=\"%d\" fill=\"#555\">%d to %d</text>"
                        + "<path d=\"M200 %dH780\" stroke=\"#bbb\"/><polyline points=\"%s\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\"/>\n",
                bottom - 16,
                name,
                bottom - 2,
                least,
                most,
                bottom,
                points.toString().strip());
    }
}
