package io.github.distributedsemaphore.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Names of semaphores as names of directories. */
class LocalNamesTest {
    @Test
    void ordinaryNamesStayReadable() {
        assertThat(LocalNames.encode("nightly-export_2")).isEqualTo("n-nightly-export_2");
        assertThat(LocalNames.encode("A b/c.d")).isEqualTo("n-=41=20b=2fc=2ed");
    }

    @Test
    void namesThatAFileSystemMightConfuseStayApart() {
        List<String> names = List.of(
                "a", "A", "a ", "a.", " a", "é", "e\u0301", ".", "..", "/", "\\", "a/b", "a=2fb", "con", "limit", "n-a",
                "b-a", "\0", "\n", "%2e", "*", "🦊", "ſ", "s", "K", "k");
        Set<String> encoded = new HashSet<>();
        for (String name : names) {
            String directory = LocalNames.encode(name);
            assertThat(directory).matches("[nb]-[a-z0-9=_-]+");
            assertThat(encoded.add(directory.toLowerCase(Locale.ROOT))).as(name).isTrue();
            assertThat(LocalNames.decode(directory)).contains(name);
        }
    }

    @Test
    void theLongestNameFitsAndOneByteMoreIsRefused() {
        for (String unit : List.of("a", "A", "é", "🦊")) {
            int size = unit.getBytes(StandardCharsets.UTF_8).length;
            String longest = unit.repeat(LocalNames.MAX_BYTES / size);
            assertThat(LocalNames.encode(longest).length()).isLessThanOrEqualTo(255);
            assertThat(LocalNames.decode(LocalNames.encode(longest))).contains(longest);
            assertThatThrownBy(() -> LocalNames.encode(unit.repeat(LocalNames.MAX_BYTES / size + 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("150");
        }
    }

    @Test
    void halfASurrogatePairIsNoName() {
        assertThatThrownBy(() -> LocalNames.encode("a\ud83e")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void foreignDirectoriesAreNobodys() {
        List<String> foreign =
                List.of("", "n-", "b-", "lost+found", "n-A", "n-=4", "n-=61", "n-=zz", "b-w", "b-00", "n-=ff");
        for (String directory : foreign) {
            assertThat(LocalNames.decode(directory)).as(directory).isEmpty();
        }
    }

    @Test
    void everyNameComesBack() {
        Random random = new Random(7);
        for (int i = 0; i < 2_000; i++) {
            String name = random.ints(1 + random.nextInt(37), 0, 0x10ffff)
                    .filter(c -> c < 0xd800 || c > 0xdfff)
                    .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                    .append('x')
                    .toString();
            assertThat(LocalNames.decode(LocalNames.encode(name))).contains(name);
        }
    }
}
