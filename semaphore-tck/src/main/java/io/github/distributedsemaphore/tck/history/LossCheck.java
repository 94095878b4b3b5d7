package io.github.distributedsemaphore.tck.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A loss is reported at most once, and never for a permit that was released before. */
final class LossCheck {
    private LossCheck() {}

    static List<Violation> check(History history) {
        Map<Long, Operation> ended = new HashMap<>();
        List<Violation> violations = new ArrayList<>();
        for (Operation operation : history.operations()) {
            boolean loss = operation.kind() == Operation.Kind.LOSS;
            boolean release =
                    operation.kind() == Operation.Kind.RELEASE && operation.outcome() != Operation.Outcome.FAILED;
            if (!loss && !release) {
                continue;
            }
            for (HeldSlot held : operation.slots()) {
                Operation before = ended.putIfAbsent(held.hold(), operation);
                if (loss && before != null && before.kind() == Operation.Kind.LOSS) {
                    violations.add(new Violation(
                            "6.4",
                            operation.invoked(),
                            "the loss of " + held + " was told twice: " + before.line() + " and " + operation.line()));
                } else if (loss && before != null && before.returned() < operation.invoked()) {
                    violations.add(new Violation(
                            "6.5",
                            operation.invoked(),
                            "the loss of " + held + " was told after its release: " + before.line() + " and "
                                    + operation.line()));
                }
            }
        }
        return violations;
    }
}
