package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class KeyNamesTest {
    @Test
    void whatConsulTakesAsItIsStandsForItself() {
        for (String name : List.of("jobs", "a/b", "service/app/Exports_2.x-y")) {
            assertThat(KeyNames.encode(name)).isEqualTo(name);
        }
    }

    @Test
    void everyNameHasItsOwnPrefixAndCanBeReadBack() {
        List<String> names = List.of(
                "a",
                "a/",
                "/a",
                "a//b",
                "a/b",
                "a,2Fb",
                "a%2Fb",
                ".",
                "..",
                "a/../b",
                "a/./b",
                "/",
                "//",
                "a b",
                "a?b",
                "a#b",
                "\u00e4",
                "\u0000",
                "\ud83d\ude00",
                ",",
                ",,",
                ".lock",
                ".semaphore",
                "a/.lock");
        assertThat(names)
                .extracting(KeyNames::encode)
                .doesNotHaveDuplicates()
                .allSatisfy(prefix -> assertThat(prefix).matches("[A-Za-z0-9,_.-]+(/[A-Za-z0-9,_.-]+)*"));
        assertThat(names)
                .allSatisfy(name ->
                        assertThat(KeyNames.decode(KeyNames.encode(name))).isEqualTo(name));
    }
}
