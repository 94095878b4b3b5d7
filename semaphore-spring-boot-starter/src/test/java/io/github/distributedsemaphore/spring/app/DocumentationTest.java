package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles the examples of docs/spring.md and the one of README. */
final class DocumentationTest {
    private static final String IMPORTS = """
            import io.github.distributedsemaphore.*;
            import io.github.distributedsemaphore.reactor.ReactorPermits;
            import io.github.distributedsemaphore.spring.*;
            import io.github.distributedsemaphore.spring.WithPermit.IfFull;
            import java.time.Duration;
            import java.util.Optional;
            import java.util.concurrent.CompletableFuture;
            import org.springframework.beans.factory.annotation.Autowired;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.boot.test.context.SpringBootTest;
            import org.springframework.stereotype.Service;
            import reactor.core.publisher.Mono;
            """;
    private static final Pattern EXAMPLE = Pattern.compile("```java\\n(.*?class (\\w+).*?)```", Pattern.DOTALL);

    @Test
    void theExamplesCompile(@TempDir Path classes) throws IOException {
        Matcher examples = EXAMPLE.matcher(Files.readString(Path.of("../docs/spring.md")));
        int count = 0;
        while (examples.find()) {
            compile(examples.group(2), IMPORTS + examples.group(1), classes);
            count++;
        }
        assertThat(count).isEqualTo(4);
    }

    /** With its own imports, since ./release runs it as it stands. */
    @Test
    void theExampleOfTheReadmeCompiles(@TempDir Path classes) throws IOException {
        Matcher examples = EXAMPLE.matcher(Files.readString(Path.of("../README.md")));
        assertThat(examples.find()).isTrue();
        assertThat(examples.group(2)).isEqualTo("ExportApplication");
        compile("ExportApplication", examples.group(1), classes);
    }

    private static void compile(String name, String text, Path classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter messages = new StringWriter();
        SimpleJavaFileObject source =
                new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return text;
                    }
                };
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        boolean compiled = compiler.getTask(
                        messages,
                        null,
                        null,
                        List.of("-proc:none", "-cp", path, "-d", classes.toString()),
                        null,
                        List.of(source))
                .call();
        assertThat(compiled).as(messages + text).isTrue();
    }
}
