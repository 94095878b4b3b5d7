package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

class LockBodyTest {
    private static LockBody parse(String text) {
        return LockBody.parse("key", LockBody.FLAGS.toString(), text);
    }

    @Test
    void onlyAMarkThatIsTrueMeansDestroyed() {
        String start = "{\"Limit\":3,\"Holders\":{}";
        assertThat(parse(start + "}").destroyed()).isFalse();
        for (String mark : new String[] {"false", "null", "\"true\"", "0", "{}"}) {
            assertThat(parse(start + ",\"Destroyed\":" + mark + "}").destroyed())
                    .as(mark)
                    .isFalse();
        }
        assertThat(parse(start + ",\"Destroyed\":true}").destroyed()).isTrue();
    }

    @Test
    void whatIsWrittenIsReadBack() {
        for (boolean destroyed : new boolean[] {true, false}) {
            LockBody body = new LockBody(3, Set.of("a", "b"), "", destroyed);
            assertThat(parse(body.toJson())).isEqualTo(body);
        }
    }
}
