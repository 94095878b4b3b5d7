package example;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.SemaphoreClient;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest(properties = "distributed-semaphore.uri=memory:")
class ExportApplicationTest {
    @Autowired
    ExportApplication.Exports exports;

    @Autowired
    SemaphoreClient client;

    @Test
    void exportsWithoutAServer() throws InterruptedException {
        assertThat(exports.export()).startsWith("1 ");
        assertThat(client.guarantees().backend()).isEqualTo("memory");
        assertThat(client.semaphore("exports").statistics().released()).isEqualTo(1);
    }
}
