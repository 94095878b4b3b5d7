package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spring.WithPermit;
import io.github.distributedsemaphore.spring.boot.SemaphoreAutoConfiguration;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

/** A test of an application replaces an annotated bean; the check that all such beans have proxies lets that pass. */
@SpringBootTest(classes = MockedBeanTest.App.class, properties = "distributed-semaphore.uri=memory:mocked")
final class MockedBeanTest {
    @ImportAutoConfiguration({SemaphoreAutoConfiguration.class, AopAutoConfiguration.class})
    static class App {
        @Bean
        Exports exports() {
            return new Exports();
        }
    }

    static class Exports {
        @WithPermit("exports")
        public String export() {
            return "exported";
        }
    }

    @MockitoBean
    private Exports exports;

    @Autowired
    private ApplicationContext context;

    @Test
    void theContextStartsWithTheMock() {
        assertThat(Mockito.mockingDetails(context.getBean(Exports.class)).isMock())
                .isTrue();
        assertThat(exports.export()).isNull();
    }
}
