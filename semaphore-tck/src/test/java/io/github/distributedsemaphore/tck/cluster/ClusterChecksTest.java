package io.github.distributedsemaphore.tck.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What counts as wrong in a history of a cluster, and what a strike excuses. A strike lasts from 10 to 50, and permits are valid for 20. */
class ClusterChecksTest {
    private static final int LIMIT = 1;
    private static final Strike ANOTHER_LED = new Strike(10, 40, 50, true);
    private static final Strike NOBODY_ELSE_LED = new Strike(10, 40, 50, false);
    private static final long LONG = 1_000;

    private static final Guarantees UNBOUNDED = declaring(Fault.FAIL_OVER, Exposure.UNBOUNDED);
    private static final Guarantees A_LEASE = declaring(Fault.FAIL_OVER, Exposure.atMost(Duration.ofNanos(20)));
    private static final Guarantees NOTHING = declaring(Fault.FAIL_OVER, Exposure.NONE);
    /** As where the broker frees what a connection held when that ends. */
    private static final Guarantees AN_END_OF_A_LINK = declaring(Fault.LINK_CUT, Exposure.atMost(Duration.ofNanos(20)));

    private static Guarantees declaring(Fault fault, Exposure exposure) {
        return GuaranteesBuilder.of("test")
                .capabilities(Capability.FENCING)
                .detection(Duration.ZERO, Duration.ofNanos(20))
                .exposure(fault, exposure)
                .build();
    }

    private static List<Violation> judge(Guarantees guarantees, ClusterFault fault, Strike strike, Operation... done) {
        return new ClusterChecks(guarantees, fault, true, List.of(strike))
                .violations(new History(LIMIT, List.of(done)));
    }

    /** Two of which the second begins at an instant, and then both hold for some time. */
    private static Operation[] overlap(long from, long length) {
        List<Operation> operations = new ArrayList<>(held(from - 5, from + length, 1, 9));
        operations.addAll(held(from, from + length, 1, 10));
        return operations.toArray(Operation[]::new);
    }

    private static List<Operation> held(long from, long to, int slot, long epoch) {
        Operation grant = granted(from, slot, epoch);
        Operation release = new Operation(
                grant.process(), Operation.Kind.RELEASE, to, to, Operation.Outcome.OK, 1, grant.slots(), to);
        return List.of(grant, release);
    }

    private static Operation granted(long at, int slot, long epoch) {
        List<HeldSlot> held = List.of(new HeldSlot(at, slot, epoch));
        return new Operation("at" + at, Operation.Kind.ACQUIRE, at, at, Operation.Outcome.OK, 1, held, Operation.NEVER);
    }

    @Test
    void twoInOneSlotAreExcusedWhereAnotherNodeTookOver() {
        assertThat(judge(UNBOUNDED, ClusterFault.LEADER_KILLED, ANOTHER_LED, overlap(20, LONG)))
                .isEmpty();
        assertThat(judge(NOTHING, ClusterFault.LEADER_KILLED, ANOTHER_LED, overlap(20, LONG)))
                .isNotEmpty();
    }

    @Test
    void twoThatHoldForLongerThanDeclaredAreNot() {
        assertThat(judge(A_LEASE, ClusterFault.LEADER_KILLED, ANOTHER_LED, overlap(20, 20)))
                .isEmpty();
        assertThat(judge(A_LEASE, ClusterFault.LEADER_KILLED, ANOTHER_LED, overlap(20, 21)))
                .isNotEmpty();
    }

    /** Both would have it for good. */
    @Test
    void twoThatNeverEndAreNot() {
        assertThat(judge(UNBOUNDED, ClusterFault.LEADER_KILLED, ANOTHER_LED, granted(15, 1, 9), granted(20, 1, 10)))
                .isNotEmpty();
    }

    /** What was granted before the strike ended may be valid for a while after it. */
    @Test
    void twoInTheCalmBeforeAStrikeOrLongAfterItAreNot() {
        for (Guarantees guarantees : List.of(UNBOUNDED, A_LEASE)) {
            List<Long> instants = LongStream.of(9, 10, 50, 70, 71).boxed().toList();

            assertThat(instants)
                    .extracting(at -> judge(guarantees, ClusterFault.LEADER_KILLED, ANOTHER_LED, overlap(at, 5))
                            .isEmpty())
                    .containsExactly(false, true, true, true, false);
        }
    }

    @Test
    void twoAreNotWhereNobodyTookOver() {
        for (ClusterFault fault : ClusterFault.values()) {
            assertThat(judge(UNBOUNDED, fault, NOBODY_ELSE_LED, overlap(20, 5)))
                    .as("two in one slot under %s", fault)
                    .isNotEmpty();
        }
    }

    /** A fail-over has many causes. */
    @Test
    void twoAreExcusedAlsoWhereAnotherNodeTookOverThatNobodyStruck() {
        assertThat(judge(UNBOUNDED, ClusterFault.FOLLOWER_ALONE, ANOTHER_LED, overlap(20, 5)))
                .isEmpty();
    }

    @Test
    void whereEachNodeLeadsAPartAnyOfThemMayHaveBeenReplaced() {
        History history = new History(LIMIT, List.of(overlap(20, LONG)));
        List<ClusterFault> faults = List.of(ClusterFault.FOLLOWER_ALONE, ClusterFault.CLIENT_ALONE);

        assertThat(faults)
                .extracting(fault -> new ClusterChecks(UNBOUNDED, fault, false, List.of(NOBODY_ELSE_LED))
                        .violations(history)
                        .isEmpty())
                .containsExactly(true, false);
    }

    @Test
    void anOverlapThatIsDeclaredForALinkNeedsNoOtherLeader() {
        assertThat(judge(AN_END_OF_A_LINK, ClusterFault.CLIENT_ALONE, NOBODY_ELSE_LED, overlap(20, 20)))
                .isEmpty();
        assertThat(judge(AN_END_OF_A_LINK, ClusterFault.CLIENT_ALONE, NOBODY_ELSE_LED, overlap(20, 21)))
                .isNotEmpty();
    }

    @Test
    void aSlotAboveTheLimitIsWrong() {
        assertThat(judge(UNBOUNDED, ClusterFault.LEADER_KILLED, ANOTHER_LED, granted(1, 1, 9), granted(20, 2, 10)))
                .extracting(Violation::toString)
                .anyMatch(message -> message.startsWith("[1.2] slot 2 was granted where the limit is 1"));
    }

    @Test
    void aChangeOfTheLimitMayBeForgottenDuringAStrike() {
        Operation[] done = {granted(1, 1, 9), resized(20, 2), resized(22, 1), granted(30, 2, 10)};
        ClusterFault fault = ClusterFault.LEADER_KILLED_WHILE_RESIZED;

        assertThat(judge(UNBOUNDED, fault, ANOTHER_LED, done)).isEmpty();
        assertThat(judge(NOTHING, fault, ANOTHER_LED, done)).isNotEmpty();
    }

    private static Operation resized(long at, int limit) {
        return new Operation(
                "admin", Operation.Kind.RESIZE, at, at + 1, Operation.Outcome.OK, limit, List.of(), Operation.NEVER);
    }

    @Test
    void aLowerEpochIsOfANodeThatIsReplacedUntilTheClusterIsWhole() {
        List<Long> instants = LongStream.of(20, 60).boxed().toList();

        assertThat(instants)
                .extracting(at -> judge(UNBOUNDED, ClusterFault.LEADER_KILLED, ANOTHER_LED, falling(at))
                        .size())
                .containsExactly(0, 1);
        assertThat(judge(UNBOUNDED, ClusterFault.LEADER_KILLED, NOBODY_ELSE_LED, falling(20)))
                .hasSize(1);
    }

    private static Operation[] falling(long at) {
        List<Operation> operations = new ArrayList<>(held(1, 2, 1, 9));
        operations.addAll(held(at, at + 1, 1, 8));
        return operations.toArray(Operation[]::new);
    }
}
