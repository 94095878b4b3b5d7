package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.tck.report.ReportPart;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The place of a JVM among those that run the sections of one test class together. They meet in a folder, where each leaves a file
 * for a section that it takes, and at its end its part of the report.
 *
 * @param folder where they meet
 * @param number which of them this is, from 1
 * @param of how many they are
 */
public record SectionShare(Path folder, int number, int of) {
    private static final String FOLDER = "tck.share.folder";
    private static final String NUMBER = "tck.share.number";
    private static final String OF = "tck.share.of";

    static Optional<SectionShare> from(Function<String, @Nullable String> parameters) {
        String folder = parameters.apply(FOLDER);
        String number = parameters.apply(NUMBER);
        String of = parameters.apply(OF);
        return folder == null || number == null || of == null
                ? Optional.empty()
                : Optional.of(new SectionShare(Path.of(folder), Integer.parseInt(number), Integer.parseInt(of)));
    }

    public Map<String, String> parameters() {
        return Map.of(FOLDER, folder.toString(), NUMBER, Integer.toString(number), OF, Integer.toString(of));
    }

    /** Keeps a section for this JVM, so that each runs one at least, and has a part of the report. */
    public void reserve(String section) throws IOException {
        Files.writeString(taken(section), Integer.toString(number), StandardOpenOption.CREATE_NEW);
    }

    /** Takes a section, unless another JVM has. */
    public boolean take(String section) {
        try {
            Files.createFile(taken(section));
            return true;
        } catch (FileAlreadyExistsException e) {
            return isReserved(section);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean isReserved(String section) {
        try {
            return Files.readString(taken(section)).equals(Integer.toString(number));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path taken(String section) {
        return folder.resolve("section-" + section);
    }

    /** Leaves a part of the report here. The last one to come gets those of the others, for the whole report. */
    Optional<List<ReportPart>> leave(ReportPart own) {
        try (FileChannel lock =
                        FileChannel.open(folder.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock held = lock.lock()) {
            if (!held.isValid()) {
                throw new IllegalStateException("the lock of " + folder + " was lost");
            }
            List<ReportPart> others = new ArrayList<>();
            for (int other = 1; other <= of; other++) {
                Path part = folder.resolve("part-" + other);
                if (Files.exists(part)) {
                    others.add(ReportPart.fromJson(Files.readString(part)));
                }
            }
            Files.writeString(folder.resolve("part-" + number), own.toJson());
            return others.size() == of - 1 ? Optional.of(others) : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
