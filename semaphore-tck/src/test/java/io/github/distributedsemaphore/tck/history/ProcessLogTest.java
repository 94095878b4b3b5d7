package io.github.distributedsemaphore.tck.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

/** What a history notes of a permit whose process stood still between the grant and the note. */
class ProcessLogTest {
    private static final long STOOD_STILL = 500_000_000;

    @Test
    void ofAPermitThatIsLostByNowNothingIsSure() {
        long granted = System.nanoTime() - STOOD_STILL;
        assertThat(ProcessLog.sureUntil(permit(Deadline.at(granted + STOOD_STILL), false), granted))
                .isEqualTo(granted);
        assertThat(ProcessLog.sureUntil(permit(Deadline.NEVER, false), granted)).isEqualTo(granted);
    }

    @Test
    void aPermitThatIsValidIsSureToItsEnd() {
        long granted = System.nanoTime();
        assertThat(ProcessLog.sureUntil(permit(Deadline.at(granted + STOOD_STILL), true), granted))
                .isEqualTo(granted + STOOD_STILL);
        assertThat(ProcessLog.sureUntil(permit(Deadline.NEVER, true), granted)).isEqualTo(Operation.NEVER);
    }

    private static Permit permit(Deadline end, boolean valid) {
        return (Permit) Proxy.newProxyInstance(
                Permit.class.getClassLoader(),
                new Class<?>[] {Permit.class},
                (proxy, method, arguments) -> method.getName().equals("isValid") ? (Object) valid : end);
    }
}
