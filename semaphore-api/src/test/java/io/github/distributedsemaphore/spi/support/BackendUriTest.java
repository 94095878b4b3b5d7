package io.github.distributedsemaphore.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BackendUriTest {
    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            emptyValue = "",
            value = {
                "local:, local, '', '', '', ''",
                "local:/p%20a?x=1, local, '', '', '', /p a",
                "local:relative, local, '', '', '', relative",
                "LOCAL:/P, local, '', '', '', /P",
                "'redis://u:p%40@h:1,h2:2/0?detection=10s', redis, u, p@, 'h:1,h2:2', /0",
                "redis://h, redis, '', '', h, ''",
                "redis://:secret@h, redis, '', secret, h, ''",
                "redis://us%3Aer@h, redis, us:er, '', h, ''",
                "redis://u:p:q@h, redis, u, p:q, h, ''",
                "redis://u:p@q@h, redis, u, p@q, h, ''",
                "redis://[::1]:6379/0, redis, '', '', [::1]:6379, /0",
                "amqps://u:a+b@h/%2F, amqps, u, a+b, h, //",
                "consul+https://h?x=1, consul+https, '', '', h, ''",
            })
    void takesApart(String text, String scheme, String user, String password, String hosts, String path) {
        BackendUri uri = BackendUri.parse(text);
        assertThat(uri.scheme()).isEqualTo(scheme);
        assertThat(uri.user()).isEqualTo(user);
        assertThat(uri.password()).isEqualTo(password);
        assertThat(uri.hosts()).isEqualTo(hosts);
        assertThat(uri.path()).isEqualTo(path);
    }

    @Test
    void readsSettings() {
        BackendUri uri = BackendUri.parse("local:?a=1%3D2&b=x+y&c&&d=&e=%C3%A9");
        assertThat(uri.text("a", "-")).isEqualTo("1=2");
        assertThat(uri.text("b", "-")).isEqualTo("x+y");
        assertThat(uri.text("c", "-")).isEmpty();
        assertThat(uri.text("d", "-")).isEmpty();
        assertThat(uri.text("e", "-")).isEqualTo("é");
        assertThat(uri.text("f", "-")).isEqualTo("-");
        uri.refuseUnread();
    }

    @Test
    void refusesASettingThatIsGivenTwice() {
        assertThatThrownBy(() -> BackendUri.parse("local:?a=1&a=1")).hasMessageContaining("'a' is given twice");
        BackendUri uri = BackendUri.parse("local:?a=1");
        assertThatThrownBy(() -> uri.set("a", "2")).hasMessageContaining("'a' is given twice");
    }

    @Test
    void refusesSettingsThatNobodyRead() {
        BackendUri uri = BackendUri.parse("local:?lable=x&turn=1s&label=y");
        uri.text("label", "");
        uri.text("recheck", "");
        assertThatThrownBy(uri::refuseUnread)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("[lable, turn]", "[label, recheck]", "local");
    }

    @Test
    void refusesANumberOutOfBoundsNamingBoth() {
        for (String value : new String[] {"-1", "11", "x", "", "1.5", "99999999999999"}) {
            BackendUri uri = BackendUri.parse("local:");
            uri.set("n", value);
            assertThatThrownBy(() -> uri.integer("n", 5, 0, 10))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("'n'", "'" + value + "'", "0 to 10");
        }
        assertThat(BackendUri.parse("local:?n=10").integer("n", 5, 0, 10)).isEqualTo(10);
        assertThat(BackendUri.parse("local:?n=0").integer("n", 5, 0, 10)).isZero();
        assertThat(BackendUri.parse("local:").integer("n", 5, 0, 10)).isEqualTo(5);
    }

    @Test
    void refusesADurationOutOfBoundsNamingBoth() {
        Duration min = Duration.ofMillis(1);
        Duration max = Duration.ofMinutes(1);
        for (String value : new String[] {"0s", "61s"}) {
            BackendUri uri = BackendUri.parse("local:?d=" + value);
            assertThatThrownBy(() -> uri.duration("d", min, min, max))
                    .hasMessageContainingAll("'d'", "'" + value + "'", "1ms to 1m");
        }
        assertThatThrownBy(() -> BackendUri.parse("local:?d=soon").duration("d", min, min, max))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("'d'", "'soon'", "500ms");
        assertThat(BackendUri.parse("local:?d=60s").duration("d", min, min, max))
                .isEqualTo(max);
        assertThat(BackendUri.parse("local:").duration("d", min, min, max)).isEqualTo(min);
    }

    @Test
    void showsNeitherCredentialsNorSettings() {
        assertThat(BackendUri.parse("redis://user:secret@h:1/0?password=secret"))
                .hasToString("redis://h:1/0");
        assertThat(BackendUri.parse("local:/p?x=1")).hasToString("local:/p");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "secret", ":secret", "1x:secret", "us er:secret@h", "/secret:x"})
    void refusesWhatHasNoSchemeWithoutRepeatingIt(String text) {
        assertThatThrownBy(() -> BackendUri.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("secret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://u:a%zqx@h", "redis://u:zq%@h", "redis://%zq:x@h", "redis://u:x@h/%zq", "a:?%zq"})
    void refusesABrokenPercentEscapeAtOnceWithoutRepeatingIt(String text) {
        assertThatThrownBy(() -> BackendUri.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("%25")
                .hasMessageNotContaining("zq")
                .hasNoCause();
    }

    @Test
    void refusesAPasswordWhoseSlashWouldMakeItAHost() {
        assertThatThrownBy(() -> BackendUri.parse("redis://user:sec/ret@h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("%2F")
                .hasMessageNotContaining("sec");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://user:sec?ret@h",
                "amqp://user:sec?ret@h/vhost",
                "postgresql://user:sec?ret@h/db?table=jobs",
                "redis://:123?sec@h",
                "redis://user:sec?a=b@h"
            })
    void refusesAPasswordWhoseQuestionMarkWouldMakeItAHost(String uri) {
        assertThatThrownBy(() -> BackendUri.parse(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("%3F")
                .hasMessageNotContaining("sec")
                .hasMessageNotContaining("123");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://h:1?label=me@host",
                "redis://u:p@h:1?label=me@host",
                "redis://[::1]:6379,[::2]?label=me@host",
                "redis-sentinel://a:1,b,c:3/0?label=me@host",
                "local:/tmp?label=me@host"
            })
    void aSettingMayHoldAnAt(String uri) {
        assertThat(BackendUri.parse(uri).text("label", "")).isEqualTo("me@host");
    }

    @Test
    void aChoiceIsOneOfItsWords() {
        assertThat(BackendUri.parse("x:").choice("wakeup", "listen", "poll")).isEqualTo("listen");
        assertThat(BackendUri.parse("x:?wakeup=poll").choice("wakeup", "listen", "poll"))
                .isEqualTo("poll");
        assertThatThrownBy(() -> BackendUri.parse("x:?wakeup=often").choice("wakeup", "listen", "poll"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Setting 'wakeup' is 'often', it must be listen or poll");
    }
}
