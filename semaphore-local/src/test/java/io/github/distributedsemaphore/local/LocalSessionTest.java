package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** The contract of sessions on files of this machine. */
class LocalSessionTest extends SessionTck {
    @TempDir
    Path directory;

    @Override
    protected SemaphoreBackend open(HolderInfo self) {
        return new LocalBackendProvider().open(BackendUri.parse("local:" + directory), self);
    }
}
