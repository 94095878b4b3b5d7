package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import org.junit.jupiter.api.Test;

/** What a URI says of semaphores; what it says of servers is {@code RedisAddressTest}'s. */
class RedisSettingsTest {
    private static RedisSettings settings(String uri) {
        return RedisSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    @Test
    void settingsAreShownWithoutPasswords() {
        assertThat(settings("redis-sentinel://me:s3cret@a/2?master=main&sentinelPassword=hush&prefix=mine"))
                .asString()
                .contains("prefix mine")
                .doesNotContain("s3cret")
                .doesNotContain("hush");
    }

    @Test
    void aPrefixThatWouldMixKeysIsRefused() {
        assertThatThrownBy(() -> settings("redis://a?prefix=a:b"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("letters");
    }
}
