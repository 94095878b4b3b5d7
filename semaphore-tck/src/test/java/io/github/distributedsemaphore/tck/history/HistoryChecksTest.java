package io.github.distributedsemaphore.tck.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.tck.history.LinearizabilitySearch.Verdict;
import io.github.distributedsemaphore.tck.history.LinearizabilitySearch.View;
import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The checks find what is wrong and nothing else. */
class HistoryChecksTest {
    private static final int MANY = 20_000;
    private static final long SEED = System.nanoTime();

    @Test
    void theSweepAgreesWithTryingEveryOrder() {
        long seed = System.nanoTime();
        RandomHistories histories = new RandomHistories(seed);
        int impossible = 0;
        for (int i = 0; i < MANY; i++) {
            History history = histories.arbitrary();
            boolean possible = new Linearization(history).exists();
            impossible += possible ? 0 : 1;
            assertThat(OverlapCheck.check(history).isEmpty())
                    .as(() -> "seed " + seed + "\n" + String.join("\n", history.lines()))
                    .isEqualTo(possible);
        }
        assertThat(impossible).as("impossible histories among them").isBetween(MANY / 10, MANY * 9 / 10);
    }

    /** Each refusal is judged alone, so some impossible histories pass; no possible one is refused. */
    @Test
    void theChecksOfRefusalsRefuseNothingThatSomeOrderExplains() {
        long seed = System.nanoTime();
        RandomHistories histories = new RandomHistories(seed);
        int impossible = 0;
        int found = 0;
        for (int i = 0; i < MANY; i++) {
            History history = histories.withRefusals();
            boolean possible = new Linearization(history).exists();
            boolean accepted = OverlapCheck.check(history).isEmpty()
                    && RefusalCheck.check(history, 0).isEmpty();
            assertThat(accepted || !possible)
                    .as(() ->
                            "a possible history is accepted, seed " + seed + "\n" + String.join("\n", history.lines()))
                    .isTrue();
            impossible += possible ? 0 : 1;
            found += accepted ? 0 : 1;
        }
        assertThat(found).as("found of " + impossible + " impossible histories").isGreaterThan(impossible * 9 / 10);
    }

    @Test
    void theSearchByNumbersAgreesWithTryingEveryOrder() {
        RandomHistories histories = new RandomHistories(SEED);
        int impossible = 0;
        for (int i = 0; i < MANY; i++) {
            History history = i % 2 == 0 ? without(Kind.RESIZE, histories.mixed()) : histories.withRefusals();
            impossible += agrees(history, View.NUMBERS, Linearization.View.NUMBERS) ? 0 : 1;
        }
        assertThat(impossible).as("impossible histories among them").isBetween(MANY / 10, MANY * 9 / 10);
    }

    @Test
    void theSearchBySlotsAgreesWithTryingEveryOrder() {
        RandomHistories histories = new RandomHistories(SEED);
        int impossible = 0;
        for (int i = 0; i < MANY; i++) {
            History history = without(Kind.TRY, histories.mixed());
            impossible += agrees(history, View.SLOTS, Linearization.View.SLOTS_AND_EPOCHS) ? 0 : 1;
        }
        assertThat(impossible).as("impossible histories among them").isBetween(MANY / 20, MANY * 19 / 20);
    }

    /** Returns what both say. */
    private static boolean agrees(History history, View view, Linearization.View all) {
        boolean possible = new Linearization(history, all).exists();
        assertThat(search(view, history, LinearizabilitySearch.BUDGET).verdict())
                .as(() -> "seed " + SEED + "\n" + String.join("\n", history.lines()))
                .isEqualTo(possible ? Verdict.POSSIBLE : Verdict.IMPOSSIBLE);
        return possible;
    }

    private static History without(Kind kind, History history) {
        return new History(
                history.limit(),
                history.operations().stream().filter(it -> it.kind() != kind).toList());
    }

    private static LinearizabilitySearch.Result search(View view, History history, int budget) {
        return new LinearizabilitySearch(view, history, 0, budget).run();
    }

    /** What was granted to one waiter may go to another, by a slot that was released in between. */
    @Test
    void aGrantMayTakeEffectBeforeItsSlotIsKnown() {
        HeldSlot one = new HeldSlot(1, 1, 1);
        HeldSlot handedOn = new HeldSlot(2, 1, 2);
        List<Operation> operations = new ArrayList<>(List.of(
                RandomHistories.grant("a", 0, 10, one),
                RandomHistories.grant("b", 20, 100, handedOn),
                RandomHistories.operation("c", Kind.TRY, 30, 40, Outcome.REFUSED, 1, List.of()),
                RandomHistories.release("a", 50, 60, Outcome.OK, one),
                RandomHistories.grant("d", 70, 80, new HeldSlot(3, 2, 1))));
        assertThat(HistoryChecks.violations(new History(2, operations), true, Duration.ZERO))
                .isEmpty();
    }

    /** A verdict that nobody can give is not a good one. */
    @Test
    void aSearchThatGivesUpIsAViolationThatNamesTheBudget() {
        List<Operation> operations = new ArrayList<>();
        for (int i = 1; i <= 10; i++) {
            operations.add(RandomHistories.grant("p" + i, 0, 100, new HeldSlot(i, i, i)));
        }
        History history = new History(10, operations);
        assertThat(HistoryChecks.violations(history, true, Duration.ZERO)).isEmpty();
        assertThat(HistoryChecks.violations(history, true, Duration.ZERO, 1))
                .hasSize(2)
                .first()
                .asString()
                .startsWith("[2.8] nobody knows whether the history is possible")
                .contains("more than 1 states, the budget of the search, before p");
    }

    @Test
    void moreCallsUnderWayThanTheSearchCanTellApartAreAViolation() {
        List<Operation> operations = new ArrayList<>();
        for (int i = 1; i <= 64; i++) {
            operations.add(RandomHistories.grant("p" + i, 0, 100, new HeldSlot(i, i, i)));
        }
        assertThat(HistoryChecks.violations(new History(64, operations), true, Duration.ZERO))
                .first()
                .asString()
                .contains("more than 63 calls were under way at 0");
    }

    @Test
    void theSearchSaysWhatCannotBeExplained() {
        History history = new History(
                1,
                List.of(
                        RandomHistories.grant("a", 0, 10, new HeldSlot(1, 1, 1)),
                        RandomHistories.operation("b", Kind.ACQUIRE, 5, 30, Outcome.REFUSED, 1, List.of()),
                        RandomHistories.grant("c", 20, 40, new HeldSlot(2, 1, 2))));
        String before = "no order of the calls explains that c was granted [2:1@2] between 20 and 40. Before that, ";
        String after = "; the other calls under way: none";
        assertThat(search(View.NUMBERS, history, 10).reason()).isEqualTo(before + "1 of 1 held" + after);
        assertThat(search(View.SLOTS, history, 10).reason()).isEqualTo(before + "1 of 1 held, slots {1}" + after);
    }

    /** Whoever died may have held what it asked for last. */
    @Test
    void anAttemptOfUnknownOutcomeExplainsRefusalsFromThenOn() {
        Operation refusal = RandomHistories.operation("b", Kind.TRY, 30, 40, Outcome.REFUSED, 1, List.of());
        for (long asked : new long[] {20, 50}) {
            Operation unknown = RandomHistories.operation("a", Kind.TRY, asked, 60, Outcome.UNKNOWN, 1, List.of());
            assertThat(search(View.NUMBERS, new History(1, List.of(unknown, refusal)), 10)
                            .verdict())
                    .isEqualTo(asked < 30 ? Verdict.POSSIBLE : Verdict.IMPOSSIBLE);
        }
    }

    @Test
    void theLongestOverlapIsThatOfTwoInOneSlot() {
        History history = new History(
                2,
                List.of(
                        RandomHistories.grant("a", 1, 2, new HeldSlot(1, 1, 5)),
                        RandomHistories.grant("b", 3, 4, new HeldSlot(2, 1, 6)),
                        RandomHistories.grant("c", 3, 4, new HeldSlot(3, 2, 7)),
                        RandomHistories.release("a", 9, 10, Outcome.OK, new HeldSlot(1, 1, 5)),
                        RandomHistories.release("b", 20, 21, Outcome.OK, new HeldSlot(2, 1, 6))));
        assertThat(HistoryChecks.longestOverlap(history)).isEqualTo(Duration.ofNanos(5));
    }

    /** A fault of one client explains that its slot has a second holder, and neither a third one nor that of a client that met none. */
    @Test
    void anOverlapIsExcusedForTheHolderThatAFaultMet() {
        HeldSlot struck = new HeldSlot(1, 1, 5);
        HeldSlot next = new HeldSlot(2, 1, 6);
        History history = new History(
                1,
                List.of(
                        RandomHistories.grant("a", 1, 2, struck),
                        RandomHistories.grant("b", 3, 4, next),
                        RandomHistories.release("a", 9, 10, Outcome.OK, struck),
                        RandomHistories.release("b", 20, 21, Outcome.OK, next)));
        HistoryChecks.Excuse excuse = (process, from, to) -> process.equals("a") && from == 4 && to == 9;
        assertThat(HistoryChecks.violationsButRefusals(history, true, excuse)).isEmpty();
        assertThat(HistoryChecks.violationsButRefusals(history, true, (process, from, to) -> process.equals("b")))
                .isNotEmpty();
        History third = history.with(new History(1, List.of(RandomHistories.grant("c", 6, 7, new HeldSlot(3, 1, 7)))));
        assertThat(HistoryChecks.violationsButRefusals(third, true, excuse)).isNotEmpty();
    }

    @Test
    void whatACorrectSemaphoreDoesIsAccepted() {
        long seed = System.nanoTime();
        RandomHistories histories = new RandomHistories(seed);
        for (int i = 0; i < MANY; i++) {
            History history = histories.correct();
            assertThat(HistoryChecks.violations(history, true, Duration.ZERO))
                    .as(() -> "seed " + seed + "\n" + String.join("\n", history.lines()))
                    .isEmpty();
        }
    }

    @Test
    void oneWrongEpochIsFound() {
        RandomHistories histories = new RandomHistories(7);
        Random random = new Random(7);
        int found = 0;
        int made = 0;
        for (int i = 0; i < 2_000; i++) {
            List<Operation> operations = new ArrayList<>(histories.correct().operations());
            List<Operation> grants = operations.stream()
                    .filter(operation ->
                            operation.isGrant() && operation.slots().size() == 1)
                    .toList();
            if (grants.size() < 2) {
                continue;
            }
            Operation grant = grants.get(1 + random.nextInt(grants.size() - 1));
            operations.remove(grant);
            HeldSlot held = grant.slots().get(0);
            operations.add(RandomHistories.grant(
                    grant.process(), grant.invoked(), grant.returned(), new HeldSlot(held.hold(), held.slot(), 0)));
            boolean rose = FenceCheck.check(new History(9, operations)).isEmpty();
            boolean first = operations.stream()
                    .noneMatch(other -> other.isGrant()
                            && other.returned() < grant.invoked()
                            && other.slots().stream().anyMatch(slot -> slot.slot() == held.slot()));
            assertThat(rose).isEqualTo(first);
            made++;
            found += rose ? 0 : 1;
        }
        assertThat(found).isGreaterThan(made / 4);
    }

    @Test
    void aRefusalThatNothingExplainsIsFound() {
        HeldSlot held = new HeldSlot(1, 1, 1);
        List<Operation> operations = List.of(
                RandomHistories.grant("a", 10, 20, held),
                RandomHistories.operation("b", Kind.TRY, 30, 40, Outcome.REFUSED, 1, List.of()));
        assertThat(RefusalCheck.check(new History(1, operations), 0)).isEmpty();
        assertThat(RefusalCheck.check(new History(2, operations), 0))
                .singleElement()
                .asString()
                .startsWith("[2.8] b was refused 1 between 30 and 40 although at most 1");
    }

    @Test
    void theMessageSaysWhoHeldWhatWhen() {
        History history = new History(
                1,
                List.of(
                        RandomHistories.grant("a", 1, 2, new HeldSlot(1, 1, 5)),
                        RandomHistories.grant("b", 3, 4, new HeldSlot(2, 1, 6)),
                        RandomHistories.release("a", 9, 10, Outcome.OK, new HeldSlot(1, 1, 5))));
        assertThatThrownBy(() ->
                        HistoryChecks.assertValid(history, HistoryChecks.violations(history, true, Duration.ZERO)))
                .hasMessageContaining("2 hold at 4 where the limit is 1")
                .hasMessageContaining("a held slot 1@5 surely from 2 to 9")
                .hasMessageContaining("b held slot 1@6 surely from 4 to the end");
    }

    /** What is over when it begins is held at no instant, so it overlaps nothing. */
    @Test
    void aGrantThatIsNotValidWhenItIsHandedOverIsFoundWhereNoFaultStrikes() {
        Operation late = grantedUntil("a", 99);
        Operation atItsEnd = grantedUntil("b", 100);
        assertThat(HistoryChecks.losses(new History(2, List.of(atItsEnd)))).isEmpty();
        assertThat(HistoryChecks.losses(new History(2, List.of(late, atItsEnd))))
                .singleElement()
                .extracting(loss -> loss.violation().toString())
                .asString()
                .startsWith("[1.9] a permit was handed over after the end of its validity: a acquire 0 100 ok");
    }

    /** That another grant was sure for a moment only is no excuse, nor is a pause when the permit was not yet asked for, or was gone. */
    @Test
    void aLossIsJudgedByTheTimeOfItsOwnPermit() {
        Duration least = Duration.ofNanos(10);
        Operation brief = grantedUntil("a", 104);
        List<HeldSlot> held = List.of(new HeldSlot(2, 2, 1));
        Operation lasting = new Operation("b", Kind.TRY, 200, 300, Outcome.OK, 1, held, 380);
        Operation endless = grantedUntil("c", Operation.NEVER);
        Operation told = RandomHistories.operation("b", Kind.LOSS, 500, 500, Outcome.OK, 1, held);
        Operation found = RandomHistories.operation("a", Kind.RELEASE, 600, 650, Outcome.FAILED, 1, brief.slots());
        Operation never = RandomHistories.operation("c", Kind.LOSS, 700, 700, Outcome.OK, 1, endless.slots());
        assertThat(HistoryChecks.losses(new History(3, List.of(brief, lasting, endless, told, found, never))))
                .extracting(loss ->
                        List.of(loss.from(), loss.to(), loss.validity(least).toNanos()))
                .containsExactly(List.of(200L, 500L, 80L), List.of(0L, 650L, 10L), List.of(0L, 700L, 0L));
    }

    private static Operation grantedUntil(String process, long sureUntil) {
        List<HeldSlot> held = List.of(new HeldSlot(process.charAt(0), process.charAt(0) - 'a' + 1, 1));
        return new Operation(process, Kind.ACQUIRE, 0, 100, Outcome.OK, 1, held, sureUntil);
    }

    /** Where a fault may have two in one slot, one more than the limit is wrong all the same. */
    @Test
    void whereHoldersMayOverlapASlotAboveTheLimitIsFound() {
        Operation first = RandomHistories.grant("a", 1, 2, new HeldSlot(1, 1, 5));
        Operation second = RandomHistories.grant("b", 3, 4, new HeldSlot(2, 1, 6));
        Operation beyond = RandomHistories.grant("c", 5, 6, new HeldSlot(3, 2, 7));
        assertThat(violationsButOverlaps(first, second)).isEmpty();
        assertThat(violationsButOverlaps(first, second, beyond))
                .extracting(Violation::toString)
                .anyMatch(message -> message.startsWith("[1.2] slot 2 was granted where the limit is 1"));
    }

    private static List<Violation> violationsButOverlaps(Operation... operations) {
        return HistoryChecks.violationsButRefusals(
                new History(1, List.of(operations)), true, (process, from, to) -> true);
    }

    @Test
    void aRunThatCouldNotFailProvesNothing() {
        History history = new History(2, List.of(RandomHistories.grant("a", 1, 2, new HeldSlot(1, 1, 5))));
        assertThatThrownBy(() -> HistoryChecks.assertCouldHaveFailed(history))
                .hasMessage("the run proves nothing: at most 1 of 2 held at once, 1 grants, 0 releases");
    }

    @Test
    void aCallThatLeftMayHoldUntilItsPermitIsBack() {
        History soon = new History(
                1,
                List.of(
                        Operation.parse("p0 acquire 0 60 left 1 - never"),
                        Operation.parse("p1 try 70 80 refused 1 - never")));
        History late = new History(
                1,
                List.of(
                        Operation.parse("p0 acquire 0 60 left 1 - never"),
                        Operation.parse("p1 try 170 180 refused 1 - never")));
        History answered = new History(
                1,
                List.of(
                        Operation.parse("p0 acquire 0 60 refused 1 - never"),
                        Operation.parse("p1 try 70 80 refused 1 - never")));
        assertThat(HistoryChecks.violations(soon, true, Duration.ofNanos(100))).isEmpty();
        assertThat(HistoryChecks.violations(late, true, Duration.ofNanos(100))).isNotEmpty();
        assertThat(HistoryChecks.violations(answered, true, Duration.ofNanos(100)))
                .isNotEmpty();
    }
}
