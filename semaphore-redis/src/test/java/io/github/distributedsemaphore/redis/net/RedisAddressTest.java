package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a URI means, and which are refused before anything is connected. */
class RedisAddressTest {
    private static ServerSettings settings(String uri) {
        return ServerSettings.from(BackendUri.parse(uri), Duration.ofSeconds(2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "redis://                                        | SERVER   | false | localhost:6379",
                "redis://db.example                              | SERVER   | false | db.example:6379",
                "rediss://[::1]:7000/3                           | SERVER   | true  | [::1]:7000",
                "redis-sentinel://a,b:7/?master=main             | SENTINEL | false | 'main' of the sentinels a:26379,b:7",
                "rediss-sentinel://a/?master=main                | SENTINEL | true  | 'main' of the sentinels a:26379",
                "redis-cluster://a,b:7,a                         | CLUSTER  | false | the cluster of a:6379,b:7",
                "rediss-cluster://a                              | CLUSTER  | true  | the cluster of a:6379"
            })
    void theSchemeSaysWhatTheHostsAre(String uri, RedisAddress.Kind kind, boolean encrypted, String said) {
        RedisAddress address = settings(uri).address();
        assertThat(address.kind()).isEqualTo(kind);
        assertThat(address.encrypted()).isEqualTo(encrypted);
        assertThat(address).hasToString(said);
    }

    @Test
    void credentialsAreReadAndNotShown() {
        ServerSettings settings =
                settings("redis-sentinel://me:s3cret@a/2?master=main&sentinelUser=watch&sentinelPassword=hush");
        assertThat(settings.credentials()).isEqualTo(new ServerSettings.Credentials("me", "s3cret"));
        assertThat(settings.sentinelCredentials()).isEqualTo(new ServerSettings.Credentials("watch", "hush"));
        assertThat(settings.address().database()).isEqualTo(2);
        assertThat(settings.toString() + settings.credentials() + settings.sentinelCredentials())
                .contains("sentinels a")
                .doesNotContain("s3cret")
                .doesNotContain("hush");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis://a,b                              | takes one server",
                "redis-sentinel://a                       | master=NAME",
                "redis-cluster://a/1                      | database 0 only",
                "redis://a/first                          | number of a database",
                "redis://a:0                              | from 1 to 65535",
                "redis://a:70000                          | from 1 to 65535",
                "redis://a?ca=/etc/hostname               | rediss:",
                "rediss://a?ca=/no/such/file              | cannot be read as certificates",
                "rediss://a?certificate=/etc/passwd       | give both",
                "redis://a?timeout=100ms                  | from 200ms to 1m",
                "redis://a?timeout=1h                     | from 200ms to 1m"
            })
    void whatMakesNoSenseIsRefused(String uri, String why) {
        assertThatThrownBy(() -> settings(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }
}
