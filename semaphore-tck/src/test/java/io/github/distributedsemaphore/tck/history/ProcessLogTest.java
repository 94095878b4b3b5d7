package io.github.distributedsemaphore.tck.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a history notes of a permit, also of one whose process stood still between the grant and the note, and what becomes of it. */
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

    /** Or else permits are lost though the backend did nothing wrong. */
    @Test
    void whenOneReleaseFailsTheOtherPermitsAreGivenBackToo() {
        List<String> calls = new ArrayList<>();
        List<Permit> permits = List.of(releasing("first", calls), releasing("fails", calls), releasing("last", calls));
        ProcessLog log = new HistoryRecorder("p", true).process();
        ProcessLog.Grant grant = new ProcessLog.Grant(permits, List.of(new HeldSlot(1, 1, 1)), Operation.NEVER);
        assertThatThrownBy(() -> log.release(grant)).isInstanceOf(BackendUnavailableException.class);
        assertThat(calls).containsExactly("first release", "fails release", "fails close", "last close");
        assertThat(log.operations()).extracting(Operation::outcome).containsExactly(Outcome.UNKNOWN);
    }

    private static Permit releasing(String name, List<String> calls) {
        return permit((proxy, method, arguments) -> {
            if (method.getName().equals("isValid")) {
                return true;
            }
            calls.add(name + " " + method.getName());
            if (method.getName().equals("close")) {
                return null;
            }
            if (name.equals("fails")) {
                throw new BackendUnavailableException("no release today", null);
            }
            return ReleaseOutcome.RELEASED;
        });
    }

    private static Permit permit(Deadline end, boolean valid) {
        return permit((proxy, method, arguments) -> method.getName().equals("isValid") ? (Object) valid : end);
    }

    private static Permit permit(InvocationHandler answers) {
        return (Permit) Proxy.newProxyInstance(Permit.class.getClassLoader(), new Class<?>[] {Permit.class}, answers);
    }
}
