package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spring.WithPermit;
import io.github.distributedsemaphore.spring.boot.SemaphoreAutoConfiguration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Service;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

/** A test of an application replaces annotated beans; the check that all such beans have proxies lets that pass. */
@SpringBootTest(classes = MockedBeanTest.App.class, properties = "distributed-semaphore.uri=memory:mocked")
@MockitoBean(types = MockedBeanTest.Imports.class)
final class MockedBeanTest {
    @ImportAutoConfiguration({SemaphoreAutoConfiguration.class, AopAutoConfiguration.class})
    @Import({Reports.class, Imports.class})
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

    /** Not made by a method of a configuration, as what a scan finds. */
    @Service
    static class Reports {
        @WithPermit("reports")
        public String report() {
            return "reported";
        }
    }

    @Service
    static class Imports {
        @WithPermit("imports")
        public String importAll() {
            return "imported";
        }
    }

    @MockitoBean
    private Exports exports;

    @MockitoBean
    private Reports reports;

    @Autowired
    private ApplicationContext context;

    @Test
    void theContextStartsWithTheMocks() {
        for (Class<?> mocked : List.of(Exports.class, Reports.class, Imports.class)) {
            assertThat(Mockito.mockingDetails(context.getBean(mocked)).isMock()).isTrue();
        }
        assertThat(exports.export()).isNull();
        assertThat(reports.report()).isNull();
    }
}
