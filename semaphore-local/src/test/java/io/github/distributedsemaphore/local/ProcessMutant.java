package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.faults.CrashRules;
import io.github.distributedsemaphore.tck.faults.CrossProcessRules;
import io.github.distributedsemaphore.tck.faults.PauseRules;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * What is wrong with the backend {@code broken-local:/path?mutant=NAME}, in this process as in those that the kit starts: rules
 * that take other processes have to find it out.
 */
enum ProcessMutant {
    /** What is put around the right backend changes nothing by itself. */
    NOTHING(CrashRules.class, "", ""),

    /** The count is kept in the memory of each process, as in a semaphore of the JDK. */
    EACH_PROCESS_COUNTS_FOR_ITSELF(CrossProcessRules.class, "1.3", "a third permit of two, over there") {
        @Override
        SemaphoreBackend open(Path folder, HolderInfo self) {
            Path own = folder.resolve("own-" + ProcessHandle.current().pid());
            return new OwnCount(right(folder.resolve(STATE), self), right(own, self));
        }
    },

    /** A hold is a stored number that its holder has to take back. */
    THE_DEAD_KEEP_THEIR_SLOTS(CrashRules.class, "2.2", "the slot of a killed process is free within") {
        @Override
        boolean refuses(Marks marks) {
            return marks.count(Marks.Kind.HOLDS, Marks::isElsewhere) > 0;
        }
    },

    /** Slots are free sooner than is declared: a holder that only looked dead could still be at work. */
    THE_DEAD_ARE_BURIED_EARLY(CrashRules.class, "2.2", "time from the kill to the next grant, at least") {
        @Override
        Guarantees guarantees(Guarantees right) {
            return declared(right, right.detectionMax());
        }
    },

    /** What a crash leaves adds up, until nothing is granted any more. */
    THE_THIRD_CRASH_IS_TOO_MANY(CrashRules.class, "2.10", "the permit that the previous crash returned") {
        @Override
        boolean refuses(Marks marks) {
            return marks.count(Marks.Kind.HOLDS, Marks::isDead) > 2;
        }
    },

    /** The permit of a killed holder is returned by the process that notices, and again by itself. */
    A_CRASH_RETURNS_TWO_PERMITS(CrashRules.class, "2.10", "a second permit of a limit of 1, after the crashes") {
        @Override
        boolean addsPermit(Marks marks) {
            return marks.count(Marks.Kind.HOLDS, Marks::isDead) > 0;
        }
    },

    /** The slots of killed holders are granted, but whoever asks is told that they are held. */
    THE_DEAD_STILL_COUNT(CrashRules.class, "9.2", "all permits count as free within the detection time") {
        @Override
        int alsoCounts(Marks marks) {
            return marks.count(Marks.Kind.HOLDS, Marks::isDead);
        }
    },

    /** The mutex of administrators is a file, which its creator has to delete. */
    DEAD_ADMINISTRATORS_KEEP_THE_MUTEX(
            CrashRules.class, "8.10", "the backend works again after an administrator died") {
        @Override
        void resize(Path marks, Runnable right) {
            Path mutex = marks.resolve("mutex");
            try {
                Files.createFile(mutex);
                right.run();
                Files.delete(mutex);
            } catch (FileAlreadyExistsException e) {
                LockSupport.parkNanos(1_000_000);
                throw new BackendUnavailableException("another administrator is at work", e);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    },

    /** Each client deletes what it wrote, and nobody what another wrote. */
    THE_DEAD_LEAVE_THINGS(CrashRules.class, "16.4", "what a killed client left at the backend is gone") {
        @Override
        boolean clearsUp() {
            return false;
        }
    },

    /** Who does not move counts as dead, although no lease is declared that could end. */
    STOPPED_HOLDERS_COUNT_AS_DEAD(PauseRules.class, "14.1", "nobody else gets the slot during the pause") {
        @Override
        boolean addsPermit(Marks marks) {
            return marks.count(Marks.Kind.HOLDS, ProcLocks::isStopped) > 0;
        }
    };

    /** Below the folder of the URI: the right backend's. */
    static final String STATE = "state";

    /** Below the folder of the URI: what {@link Marks} are in. */
    static final String MARKS = "marks";

    /** A rule waits for as long as a request may take, and what is wrong here stays wrong. */
    private static final Duration OPERATION = Duration.ofSeconds(5);

    private final Class<?> section;
    private final String rule;
    private final String message;

    ProcessMutant(Class<?> section, String rule, String message) {
        this.section = section;
        this.rule = rule;
        this.message = message;
    }

    /** Opens what processes find at {@code broken-local:}. Public for {@link java.util.ServiceLoader}. */
    public static final class Provider implements BackendProvider {
        @Override
        public Set<String> schemes() {
            return Set.of("broken-local");
        }

        @Override
        public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
            // The kit sets it for each adapter that other processes reach. A lock of the operating system has no use
            // for it.
            String unused = uri.text("detection", "");
            return valueOf(uri.text("mutant", "")).open(Path.of(uri.path()), self);
        }
    }

    /** The section that holds the rule. */
    Class<?> section() {
        return section;
    }

    /** The rule it breaks. */
    String rule() {
        return rule;
    }

    /** What the rule then says, in part. */
    String message() {
        return message;
    }

    SemaphoreBackend open(Path folder, HolderInfo self) {
        return new MarkedBackend(this, right(folder.resolve(STATE), self), folder.resolve(MARKS));
    }

    private static SemaphoreBackend right(Path directory, HolderInfo self) {
        return new LocalBackendProvider().open(BackendUri.parse("local:" + directory), self);
    }

    Guarantees guarantees(Guarantees right) {
        return declared(right, right.detectionMin());
    }

    private static Guarantees declared(Guarantees right, Duration detectionMin) {
        return GuaranteesBuilder.from(right)
                .detection(detectionMin, right.detectionMax())
                .callBound(OPERATION)
                .build();
    }

    /** Whether every attempt is refused. */
    boolean refuses(Marks marks) {
        return false;
    }

    /** Whether there is to be a second permit of a limit of 1. */
    boolean addsPermit(Marks marks) {
        return false;
    }

    /** How many more are said to be held than are. */
    int alsoCounts(Marks marks) {
        return 0;
    }

    void resize(Path marks, Runnable right) {
        right.run();
    }

    /** Whether the end of a semaphore is the end of all marks at it. */
    boolean clearsUp() {
        return true;
    }
}
