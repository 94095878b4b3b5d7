package io.github.distributedsemaphore.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SlotLocksTest {
    private static List<Path> locks(String backend) throws IOException {
        return SlotLocks.of(backend, "jobs", List.of(1));
    }

    @ParameterizedTest
    @CsvSource({
        "redis://h?prefix=a, redis://h?prefix=b",
        "redis://h, redis://h?prefix=b",
        "redis-sentinel://h?master=a, redis-sentinel://h?master=b",
        "consul://h?prefix=semaphore, consul://h",
        "consul://h?dc=east, consul://h?dc=west",
        "postgresql://h/db?schema=a, postgresql://h/db?schema=b",
        "postgresql://h/db?table=a, postgresql://h/db",
        "postgresql://a:x@h/db, postgresql://b:x@h/db",
        "local:/a, local:/b",
    })
    void semaphoresOfTwoNameSpacesHaveLocksOfTheirOwn(String one, String other) throws IOException {
        assertThat(locks(one)).doesNotContainAnyElementsOf(locks(other));
    }

    @ParameterizedTest
    @CsvSource({
        "redis://h?prefix=a&timeout=1s, redis://h?timeout=5s&prefix=a&label=x",
        "redis://h, redis://user:secret@h?prefix=semaphore",
        "postgresql://h/db?table=semaphores, postgresql://h/db?detection=9s",
        "local:?timeout=1s, local:",
    })
    void theSameSemaphoreHasTheSameLocks(String one, String other) throws IOException {
        assertThat(locks(one)).isEqualTo(locks(other));
    }

    @Test
    void theUsersOwnDirectoryIsWhereTheEnvironmentSays() {
        String a = SlotLocks.nameSpace("local:", Map.of("XDG_STATE_HOME", "/a")::get);

        assertThat(SlotLocks.nameSpace("local:", Map.of("XDG_STATE_HOME", "/b")::get))
                .isNotEqualTo(a);
        assertThat(SlotLocks.nameSpace("local:/a/distributed-semaphore", name -> null))
                .isEqualTo(a);
        assertThat(SlotLocks.nameSpace("local:", Map.of("XDG_STATE_HOME", "relative")::get))
                .isEqualTo(SlotLocks.nameSpace("local:", name -> null));
    }

    @Test
    void everySlotHasALockOfItsOwnAndAllRunsTakeThemInOneOrder() throws IOException {
        List<Path> locks = SlotLocks.of("redis://h", "jobs", List.of(1, 2, 3, 4));

        assertThat(locks).doesNotHaveDuplicates();
        assertThat(SlotLocks.of("redis://h", "jobs", List.of(4, 2, 1, 3))).isEqualTo(locks);
    }
}
