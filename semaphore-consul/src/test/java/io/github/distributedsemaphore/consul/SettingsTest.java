package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SettingsTest {
    private static ConsulSettings of(String uri) {
        return ConsulSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess(""));
    }

    @Test
    void aDeadHoldersSlotIsFreeWithinTheBoundAlthoughConsulWaitsTwiceTheTimeToLive() {
        ConsulSettings settings = of("consul://localhost?detection=42s");
        assertThat(settings.ttl()).isEqualTo(Duration.ofSeconds(20));
        assertThat(settings.ttl().multipliedBy(2)).isLessThan(settings.detection());
        assertThat(settings.agent().port()).isEqualTo(8500);
        assertThat(of("consul+https://localhost").agent().port()).isEqualTo(8501);
    }

    @Test
    void refusesWhatItCannotMean() {
        for (String uri : List.of(
                "consul://?detection=30s",
                "consul://a:1,b:2",
                "consul://localhost:0",
                "consul://localhost:x",
                "consul://localhost/path",
                "consul://localhost?detection=21s",
                "consul://localhost?detection=2h",
                "consul://localhost?prefix=/a",
                "consul://localhost?prefix=a/",
                "consul://localhost?prefix=a%3Fb",
                "consul://localhost?dc=a%26b",
                "consul://localhost?node=a%26b",
                "consul://user:password@localhost",
                "consul://a%20b",
                "consul://::1",
                "consul://localhost?token=a%0Ab",
                "consul://localhost?timeout=999ms",
                "consul://localhost?timeout=61s",
                "consul://localhost?grace=")) {
            assertThatThrownBy(() -> of(uri)).as(uri).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void hostsAreNamesOrAddresses() {
        assertThat(of("consul://my_host.example:80").agent()).hasToString("my_host.example:80");
        assertThat(of("consul://[::1]:8501").agent()).hasToString("[::1]:8501");
        assertThat(of("consul://localhost?grace=none").grace()).isNull();
    }

    @Test
    void aNodeMayHaveTheNameOfAHost() {
        assertThat(of("consul://localhost?node=web-1.example_a.org").node()).isEqualTo("web-1.example_a.org");
    }

    @Test
    void aCallThatDoesNotWaitEndsWithinThreeTimesTheTimeOut() {
        for (String uri : List.of("consul://localhost", "consul://localhost?timeout=30s")) {
            try (SemaphoreBackend backend = Consul.openAt(uri)) {
                Duration timeout = of(uri).timeout();
                assertThat(backend.guarantees().callBound()).isEqualTo(timeout.multipliedBy(3));
                assertThat(of(uri).giveUpAfter()).isLessThan(timeout);
            }
        }
        assertThat(of("consul://localhost").timeout()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void threeRenewalsThatAreNotAnsweredFitIntoTheTimeToLive() {
        for (String uri : List.of("consul://a?detection=22s", "consul://a", "consul://a?detection=5m&timeout=1m")) {
            ConsulSettings settings = of(uri);
            // The engine waits for a quarter of the interval after a renewal that failed.
            Duration each = settings.renewalTimeout().plus(settings.renewEvery().dividedBy(4));
            assertThat(settings.renewEvery().plus(each.multipliedBy(3))).as(uri).isLessThan(settings.ttl());
        }
    }

    @Test
    void theTokenIsInNoText() {
        ConsulSettings settings = of("consul://localhost?token=top-secret");
        assertThat(settings.token()).isEqualTo("top-secret");
        assertThat(settings.toString()).doesNotContain("secret");
    }
}
