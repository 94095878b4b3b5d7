package io.github.distributedsemaphore.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The compatibility kit on files of this machine. */
class LocalTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        try {
            return new Harness(Files.createTempDirectory("local-tck").toRealPath());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Much of the time is waiting for other processes. */
    @Override
    public int jvms() {
        return 2;
    }

    private static final class Harness extends UriHarness implements StateProbe {
        private final Path directory;

        Harness(Path directory) {
            super("local:" + directory);
            this.directory = directory;
        }

        @Override
        public String backendVersion() {
            try {
                return System.getProperty("os.name") + ", "
                        + Files.getFileStore(directory).type();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public Map<Integer, String> absent() {
            return Map.of(
                    2, "holds are locks on files of this machine: there is no link that could be cut",
                    3, "there is no server that could be stopped",
                    5, "there are no accounts: the rights of the folder are the file system's");
        }

        @Override
        public Optional<StateProbe> state() {
            return Optional.of(this);
        }

        @Override
        public Leftovers leftovers() {
            try (Stream<Path> files = Files.walk(directory)) {
                return Leftovers.of(files.map(Path::toString).toList());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public boolean mayStay(Thread thread) {
            // Ours and the JDK's: a pair for all clients of a directory, until the last of them is closed.
            return Set.of("semaphore-local-watch", "FileSystemWatchService").contains(thread.getName());
        }

        private Path of(String name) {
            return directory.resolve(LocalNames.encode(name));
        }

        @Override
        public void readStored(String name) {
            try (Stream<Path> files = Files.list(of(name))) {
                for (Path file : files.toList()) {
                    Files.readAllBytes(file);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void wipe(String name) {
            remove(name);
        }

        @Override
        public void removeHolder(String name, int slot) {
            inTable(name, table -> table.write(slot * 32L, new byte[32]));
        }

        @Override
        public List<String> corruptions() {
            return List.of("empty", "garbage", "cut off", "no limit", "later version");
        }

        @Override
        public void corrupt(String name, String kind) {
            Path limit = of(name).resolve(LimitFile.NAME);
            try {
                String text = Files.readString(limit);
                Files.writeString(
                        limit,
                        switch (kind) {
                            case "empty" -> "";
                            case "garbage" -> "\u0000\u0007{}";
                            case "cut off" -> text.substring(0, text.length() / 2);
                            case "no limit" -> text.replaceAll("limit=\\d+\n", "");
                            default -> text.replaceFirst(" 1\n", " 2\n");
                        });
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void plantEpoch(String name, long epoch) {
            Path semaphore = of(name);
            try (InterruptShield shield = new InterruptShield()) {
                LimitFile limit = LimitFile.read(semaphore).orElseThrow();
                inTable(name, table -> {
                    table.write(0, new byte[32 * (limit.limit() + 1)]);
                    SlotTable.read(table, limit.limit()).prepare(limit.limit(), epoch);
                });
                new LimitFile(limit.limit(), epoch, limit.boot()).write(semaphore, shield);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void plantSlots(String name, int more) {
            inTable(name, table -> {
                LimitFile limit = LimitFile.read(of(name)).orElseThrow();
                int most = limit.limit() + more;
                SlotTable.read(table, most).prepare(most, limit.base());
            });
        }

        /** Opened as the backend does: any other descriptor that this process closes would end the locks of holders. */
        private void inTable(String name, TableWork work) {
            try {
                LockFile table = LockFile.open(of(name).resolve(SlotTable.NAME));
                try {
                    work.run(table);
                } finally {
                    table.close();
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @FunctionalInterface
        private interface TableWork {
            void run(LockFile table) throws IOException;
        }

        @Override
        public void occupy(String name) {
            try {
                Files.writeString(of(name), "something else");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public String occupant(String name) {
            try {
                return Files.readString(of(name));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void remove(String name) {
            deleteAll(of(name));
        }

        /** Deletes a tree in which clients go on working: they may be faster, or put something in. */
        private static void deleteAll(Path top) {
            while (Files.exists(top)) {
                try (Stream<Path> files = Files.walk(top)) {
                    for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                        Files.deleteIfExists(file);
                    }
                } catch (IOException | UncheckedIOException e) {
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        public void close() {
            assertThat(LockFile.openFiles()).isZero();
            assertThat(SharedSemaphore.IN_USE.size()).isZero();
            deleteAll(directory);
        }
    }
}
