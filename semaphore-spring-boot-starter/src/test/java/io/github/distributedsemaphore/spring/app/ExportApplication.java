package io.github.distributedsemaphore.spring.app;

import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.spring.CurrentPermit;
import io.github.distributedsemaphore.spring.WithPermit;
import io.github.distributedsemaphore.spring.WithPermit.IfFull;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Service;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An application as users write it, which {@link RealApplicationTest} starts as a process of its own. */
@SpringBootApplication
public class ExportApplication {
    public static void main(String[] arguments) {
        SpringApplication.run(ExportApplication.class, arguments);
    }

    @Service
    static class Exports {
        private final Path end;

        Exports(@Value("${exports.end}") Path end) {
            this.end = end;
        }

        /** Goes on until the file is there: the web server takes no more requests by then. */
        @WithPermit(name = "${exports.semaphore}", maxWait = "60s")
        public String export() throws InterruptedException {
            while (!Files.exists(end)) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            return "exported in slot " + CurrentPermit.require("exports").slot();
        }

        @WithPermit(name = "exports", maxWait = "0s", ifFull = IfFull.SKIP)
        public Optional<String> exportIfFree() {
            return Optional.of("exported");
        }
    }

    @RestController
    static class Web {
        private final Exports exports;

        Web(Exports exports) {
            this.exports = exports;
        }

        @GetMapping("/export")
        String export() throws InterruptedException {
            return exports.export() + " by " + (isVirtual() ? "a virtual thread" : "a thread");
        }

        @GetMapping("/exportIfFree")
        String exportIfFree() {
            return exports.exportIfFree().orElse("skipped");
        }

        /** Classes compiled for Java 17 cannot ask the thread itself. */
        private static boolean isVirtual() {
            return Thread.currentThread().toString().startsWith("VirtualThread");
        }

        @ExceptionHandler({SemaphoreClosedException.class, SemaphoreTimeoutException.class, PermitLostException.class})
        ResponseEntity<String> refused(RuntimeException problem) {
            return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
                    .body(problem.getClass().getSimpleName());
        }
    }
}
