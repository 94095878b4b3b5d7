package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What callers are told when the backend fails, and that nothing is leaked or held twice afterwards. */
class OutageTest {
    private final BackendUnavailableException down = new BackendUnavailableException("the link is cut", null);

    @Test
    void aLostAnswerIsFoundOutAndTheCallerGetsItsPermit() {
        Stage stage = new Stage(1);
        stage.loseReply();
        Permit permit = stage.take();
        assertThat(permit.isValid()).isTrue();
        assertThat(permit.verify().name()).isEqualTo("HELD");
        assertThat(stage.calls("exchange")).isEqualTo(1);
        assertThat(stage.calls("resolve")).isEqualTo(1);
    }

    @Test
    void afterALostAnswerWasFoundOutAWaitInVainIsNoFailure() {
        Stage stage = new Stage(1);
        stage.loseReply();
        stage.take().release();
        stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofMillis(300));
        stage.passMillis(400);
        assertThat(failureOf(waiting)).isInstanceOf(SemaphoreTimeoutException.class);
    }

    @Test
    void aLostRequestIsFoundOutAndTheWaiterGoesOnWaiting() {
        Stage stage = new Stage(1);
        stage.before("exchange", () -> {
            throw new OutcomeUnknownException("sent, perhaps", null);
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(1_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void anUnknownAcquireEndsAtOnceAndItsPermitGoesBackByItself() {
        Stage stage = new Stage(1);
        stage.loseReply();
        stage.outage("resolve", down);
        assertThatThrownBy(stage.semaphore::tryAcquire)
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining(Stage.NAME)
                .hasMessageContaining("the link is cut");
        assertThat(stage.free()).isZero();
        stage.outageOver();
        stage.passMillis(400);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anAttemptThatWasNotSentBecauseAnOutcomeIsUnknownHasCertainlyDoneNothing() {
        Stage stage = new Stage(1);
        stage.loseReply();
        stage.outage("resolve", down);
        Throwable unused = catchThrowable(stage.semaphore::tryAcquire);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.settle();
        assertThat(failureOf(attempt))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("an earlier request is not answered yet");
        assertThat(waiting).isNotDone();
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void anAttemptThatWasNotSentIsRefusedAsTheQuestionWasThatKeptItBack() {
        for (RuntimeException refusal : List.of(
                new BackendAccessException("no rights any more", null),
                new IncompatibleStateException("garbage", null))) {
            Stage stage = new Stage(1);
            stage.loseReply();
            stage.outage("resolve", refusal);
            assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
            assertThatThrownBy(stage.semaphore::tryAcquire)
                    .isInstanceOf(refusal.getClass())
                    .hasMessageContaining(Stage.NAME);
        }
    }

    @Test
    void whatWasTakenForOneThatIsGoneGoesToTheNext() {
        Stage stage = new Stage(1);
        stage.loseReply();
        CompletableFuture<Permit> gone = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.before("resolve", () -> gone.cancel(false));
        stage.settle();
        assertThat(waiting).isCompleted();
        assertThat(waiting.join().isValid()).isTrue();
    }

    /** A later call may have a slot only as long as it may pass without the backend being asked: the limit may be lower by now. */
    @Test
    void whatIsFoundToBeGrantedPassesToNoCallThatCameSince() {
        Stage stage = new Stage(2);
        stage.takeAsOther();
        stage.adapter = right -> (BackendSession) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {BackendSession.class}, (proxy, called, arguments) -> {
                    try {
                        Object result = called.invoke(right, arguments);
                        return called.getName().equals("resolve")
                                ? ((ExchangeResult) result)
                                        .toBuilder()
                                                .sent(stage.environment.nanoTime())
                                                .build()
                                : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        stage.loseReply();
        CompletableFuture<Permit> gone = stage.semaphore.acquireAsync(Duration.ZERO);
        List<CompletableFuture<Permit>> late = new ArrayList<>();
        stage.before("resolve", () -> {
            gone.cancel(false);
            stage.otherAdmin().resize(Stage.NAME, 1);
            stage.environment.freeze(300_000_000);
            late.add(stage.semaphore.acquireAsync(Duration.ofMillis(50)));
        });
        stage.settle();
        stage.passMillis(100);
        assertThat(late.get(0)).as("a call for a slot that was removed before").isCompletedExceptionally();
    }

    @Test
    void anOutageThatEndedWhileNobodyWaitedEndsNoLaterCall() {
        Stage stage = new Stage(1, "outagePatience=0s");
        stage.outage("exchange", down);
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(BackendUnavailableException.class);
        stage.outageOver();
        stage.passMillis(5_000);
        stage.before("exchange", () -> stage.passMillis(5));
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofSeconds(10));
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    /** One late answer is no outage: the call gets what comes a moment after its time. */
    @Test
    void anOutageThatEndedWhileNobodyWaitedTakesNoTimeFromALaterCall() {
        Stage stage = new Stage(1);
        stage.outage("exchange", down);
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(BackendUnavailableException.class);
        stage.outageOver();
        stage.passMillis(5_000);
        stage.before("exchange", () -> stage.passMillis(30));
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofMillis(20));
        stage.settle();
        assertThat(waiting).isCompleted();
    }

    /** The time of each call is over before the server is given up, so that none hears of it while it waits. */
    @Test
    void anOutageThatGoesOnIsToldToCallsThatLeaveGaps() {
        Stage stage = new Stage(1);
        for (int i = 0; i < 2; i++) {
            stage.before("open", () -> {
                stage.passMillis(2_000);
                throw down;
            });
        }
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync(Duration.ofSeconds(1));
        stage.passMillis(3_000);
        assertThat(failureOf(first)).isInstanceOf(SemaphoreTimeoutException.class);
        stage.passMillis(10_000);

        CompletableFuture<Permit> second = stage.semaphore.acquireAsync(Duration.ofSeconds(1));
        stage.passMillis(3_000);

        assertThat(failureOf(second))
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("the link is cut");
    }

    @Test
    void aReleaseDuringAnOutageIsToldAtOnceAndDoneAfterItWithoutFurtherCalls() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.outage("exchange", down);
        assertThatThrownBy(permit::release)
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("could not be confirmed");
        assertThat(permit.isValid()).isFalse();
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
        stage.passMillis(2_000);
        assertThat(stage.free()).isZero();
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aReleaseWhoseAnswerIsLostIsFoundOut() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.loseReply();
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void closingAPermitDuringAnOutageDoesNotThrow() {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.outage("exchange", new IncompatibleStateException("garbage", null));
        permit.close();
        stage.outageOver();
        stage.passMillis(400);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aLongOutageIsProbedAtOnePaceHoweverManyCallsAreMade() {
        Stage stage = new Stage(50);
        List<Permit> permits = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            permits.add(stage.take());
        }
        stage.outage("exchange", down);
        permits.forEach(Permit::close);
        assertThat(stage.environment.timers()).isLessThanOrEqualTo(4);
        int before = stage.calls("exchange");
        stage.passMillis(10_000);
        assertThat(stage.calls("exchange") - before).isBetween(4, 10);
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(stage.free()).isEqualTo(50);
    }

    @Test
    void anUnknownOutcomeIsProbedAtOnePaceHoweverManyCallsAreMade() {
        Stage stage = new Stage(1);
        stage.loseReply();
        stage.outage("resolve", down);
        for (int i = 0; i < 50; i++) {
            Throwable unused = catchThrowable(stage.semaphore::tryAcquire);
        }
        int before = stage.calls("resolve");
        stage.passMillis(10_000);
        assertThat(stage.calls("resolve") - before).isBetween(4, 10);
    }

    @Test
    void whatTheBackendRefusesIsTriedAgainAtGrowingIntervals() {
        Stage stage = new Stage(2);
        Permit permit = stage.take();
        stage.outage("exchange", new BackendAccessException("no rights any more", null));
        permit.close();
        int before = stage.calls("exchange");
        stage.passMillis(10_000);
        assertThat(stage.calls("exchange") - before).isBetween(4, 12);
        stage.outageOver();
        stage.passMillis(4_000);
        assertThat(stage.free()).isEqualTo(2);
    }

    @Test
    void anOutageEndsWithARefusalToo() throws InterruptedException {
        Stage stage = new Stage(1).starting();
        stage.outage("exchange", down);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.outage("exchange", new BackendAccessException("no rights any more", null));
        stage.passMillis(10_000);
        assertThat(failureOf(waiting)).isInstanceOf(BackendAccessException.class);
        stage.outageOver();
        stage.network = task -> {
            Environment.Timer unused = stage.environment.schedule(task, 120_000_000);
        };
        assertThat(stage.semaphore.tryAcquire(Duration.ofMillis(100))).isPresent();
    }

    /** The other's answers say nothing of the refused one. */
    @Test
    void whatTheBackendRefusesIsTriedAgainAtGrowingIntervalsBesideASemaphoreThatWorks() {
        assertThat(triedInTenSecondsBesideOneThatWorks(new IncompatibleStateException("a later format", null)))
                .isBetween(4, 20);
    }

    /** As in a cluster of which one part is away. */
    @Test
    void whatIsAwayIsTriedAgainAtGrowingIntervalsBesideASemaphoreThatWorks() {
        assertThat(triedInTenSecondsBesideOneThatWorks(down)).isBetween(4, 20);
    }

    private static int triedInTenSecondsBesideOneThatWorks(RuntimeException failure) {
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.client.admin().create("works", 1);
        DistributedSemaphore works = stage.client.semaphore("works");
        stage.outage("exchange", failure);
        permit.close();
        int tried = 0;
        for (int i = 0; i < 1_000; i++) {
            stage.outageOver();
            works.tryAcquire().orElseThrow().close();
            stage.outage("exchange", failure);
            int before = stage.calls("exchange");
            stage.passMillis(10);
            tried += stage.calls("exchange") - before;
        }
        return tried;
    }

    @Test
    void aCallWhoseTimeEndsWhileItsUnknownOutcomeIsFoundOutIsToldSo() {
        Stage stage = new Stage(1);
        stage.before("exchange", () -> {
            throw new OutcomeUnknownException("sent, perhaps", null);
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofSeconds(3));
        stage.before("resolve", () -> stage.passMillis(4_000));
        stage.settle();
        assertThat(failureOf(waiting)).isInstanceOf(OutcomeUnknownException.class);
        stage.passMillis(1_000);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void aWaitRidesOutAnOutage() {
        Stage stage = new Stage(1);
        Permit other = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.settle();
        stage.outage("exchange", down);
        stage.passMillis(20_000);
        other.release();
        stage.outageOver();
        assertThat(waiting).isNotDone();
        stage.passMillis(2_500);
        assertThat(waiting).isCompleted();
    }

    @Test
    void patienceEndsForEachCallByItself() {
        Stage stage = new Stage(1, "outagePatience=5s");
        stage.takeAsOther();
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.settle();
        stage.outage("exchange", down);
        stage.passMillis(3_000);
        CompletableFuture<Permit> third = stage.semaphore.acquireAsync();
        stage.passMillis(3_100);
        assertThat(failureOf(first))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContainingAll(Stage.NAME, "has not answered for 5s", "the link is cut");
        assertThat(failureOf(second)).isInstanceOf(BackendUnavailableException.class);
        assertThat(failureOf(first)).isNotSameAs(failureOf(second));
        assertThat(third).isNotDone();
        stage.passMillis(2_000);
        assertThat(failureOf(third)).isInstanceOf(BackendUnavailableException.class);
    }

    @Test
    void withoutPatienceAnUnavailableBackendEndsAllWhoWait() {
        Stage stage = new Stage(1, "outagePatience=0s");
        stage.takeAsOther();
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync();
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.settle();
        stage.outage("exchange", down);
        stage.passMillis(1_000);
        assertThat(failureOf(first)).isInstanceOf(BackendUnavailableException.class);
        assertThat(failureOf(second)).isInstanceOf(BackendUnavailableException.class);
    }

    @Test
    void aCallWhoseTimeEndsDuringAnOutageIsToldOfIt() {
        Stage stage = new Stage(1);
        stage.outage("exchange", down);
        long start = stage.environment.nanoTime();
        assertThatThrownBy(() -> stage.semaphore.acquire(Duration.ofSeconds(3)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("has not answered for 3s");
        assertThat(stage.environment.nanoTime() - start).isEqualTo(3_000_000_000L);
    }

    @Test
    void aCallWhoseRequestIsUnderWayWhenItsTimeEndsIsNotToldThatNothingWasDone() {
        Stage stage = new Stage(1);
        stage.before("exchange", () -> {
            throw down;
        });
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync(Duration.ofSeconds(5));
        stage.before("exchange", () -> {
            stage.passMillis(6_000);
            assertThat(failureOf(waiting)).isInstanceOf(OutcomeUnknownException.class);
        });
        stage.passMillis(8_000);
        assertThat(stage.requests.get(0).wants())
                .as("what the server did afterwards")
                .containsExactly(1);
        assertThat(stage.free()).isEqualTo(1);
    }

    private void cannotBeOpened(Stage stage) {
        for (int i = 0; i < 1_000; i++) {
            stage.before("open", () -> {
                throw down;
            });
        }
    }

    @Test
    void aSessionThatCannotBeOpenedAgainWhileItsWatchIsWantedIsNotTriedWithoutPause() {
        Stage stage = new Stage(1);
        Permit held = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(3_000);
        int before = stage.calls("open");
        cannotBeOpened(stage);
        Objects.requireNonNull(stage.heard).ended("a test");
        stage.passMillis(1_000);
        assertThat(stage.calls("open") - before).as("attempts in a second").isLessThan(20);

        held.close();
        stage.pass(Duration.ofHours(1));
        assertThat(waiting).isDone();
    }

    @Test
    void anAnswerThatComesAfterTheEndOfItsSessionWantsNoWatch() {
        Stage stage = new Stage(1);
        Permit held = stage.takeAsOther();
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.passMillis(3_000);
        stage.after("exchange", () -> {
            Objects.requireNonNull(stage.heard).ended("a test");
            cannotBeOpened(stage);
        });
        int before = stage.calls("open");

        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.passMillis(10_000);

        assertThat(stage.calls("open") - before).as("attempts in ten seconds").isBetween(1, 40);
        held.close();
        stage.pass(Duration.ofHours(1));
        assertThat(waiting).isDone();
        assertThat(second).isDone();
    }

    @Test
    void whatWaitingCannotHelpIsToldAtOnce() {
        for (RuntimeException refusal : List.of(
                new BackendAccessException("wrong password", null), new IncompatibleStateException("garbage", null))) {
            Stage stage = new Stage(1);
            stage.outage("exchange", refusal);
            CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
            stage.settle();
            assertThat(failureOf(waiting)).isInstanceOf(refusal.getClass());
        }
    }

    @Test
    void aThousandNamesAskNoMoreOftenDuringAnOutageThanOne() {
        Stage stage = new Stage(1);
        List<CompletableFuture<Permit>> waiting = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            stage.client.admin().create("name " + i, 1);
            waiting.add(stage.client.semaphore("name " + i).acquireAsync());
        }
        stage.outage("exchange", down);
        stage.settle();
        int before = stage.calls("exchange");
        stage.passMillis(20_000);
        assertThat(stage.calls("exchange") - before).isBetween(5, 30);
        stage.outageOver();
        stage.passMillis(4_000);
        assertThat(waiting).allMatch(CompletableFuture::isDone).noneMatch(CompletableFuture::isCompletedExceptionally);
    }

    @Test
    void aRetryForWhichThereIsNoMemoryOnceIsPlannedAtTheNextFailure() {
        Stage stage = new Stage(1);
        stage.outage("exchange", down);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.environment.failNextTimerOf("retryLater");
        stage.settle();
        Throwable unused = catchThrowable(stage.semaphore::tryAcquire);
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void aRetryIsPlannedAlsoIfThereIsNoMemoryForTheEndOfPatience() {
        Stage stage = new Stage(1);
        stage.outage("exchange", down);
        CompletableFuture<Permit> waiting = stage.semaphore.acquireAsync();
        stage.environment.failNextTimerOf("checkPatience");
        stage.settle();
        stage.outageOver();
        stage.passMillis(2_000);
        assertThat(waiting).isCompleted();
    }

    @Test
    void aRetryHasItsTurnAlsoIfThereIsNoMemoryForThatOfTheNextOne() {
        SteppedEnvironment environment = new SteppedEnvironment();
        Outage.Retries retries = new Outage.Retries(environment);
        List<String> asked = new ArrayList<>();
        retries.failed();
        retries.later(() -> asked.add("first"));
        retries.later(() -> asked.add("second"));
        environment.failNextTimerOf("next");
        environment.pass(Outage.Retries.LONGEST_NANOS);
        assertThat(asked).containsExactly("first");
        environment.failNextTimerOf("answered");
        assertThatThrownBy(retries::answered).isInstanceOf(OutOfMemoryError.class);
        retries.later(() -> asked.add("third"));
        environment.pass(Outage.Retries.LONGEST_NANOS);
        assertThat(asked).containsExactly("first", "second", "third");
    }

    /** As a wait for holders to leave does whose time is over. */
    @Test
    void oneThatLeavesTheQueueOfRetriesCostsTheOthersNoTurn() {
        SteppedEnvironment environment = new SteppedEnvironment();
        Outage.Retries retries = new Outage.Retries(environment);
        for (int i = 0; i < 16; i++) {
            retries.failed();
        }
        List<String> asked = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Runnable leaves = () -> asked.add("leaves");
            retries.later(leaves);
            retries.leave(leaves);
        }
        retries.answered();
        retries.failed();
        retries.later(() -> asked.add("stays"));

        environment.pass(Outage.Retries.LONGEST_NANOS);

        assertThat(asked).containsExactly("stays");
    }

    @Test
    void aSessionThatCannotBeOpenedIsCertainToHaveTakenNothing() {
        for (RuntimeException reason : List.of(down, new OutcomeUnknownException("perhaps", null), bug())) {
            Stage stage = new Stage(1);
            stage.outage("open", reason);
            assertThatThrownBy(stage.semaphore::tryAcquire)
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining(String.valueOf(reason.getMessage()));
            stage.outageOver();
            assertThat(stage.take().isValid()).isTrue();
            assertThat(stage.calls("resolve")).isZero();
        }
    }

    @Test
    void everyFailureNamesTheSemaphore() {
        for (String call : List.of("open", "exchange")) {
            Stage stage = new Stage(1);
            stage.outage(call, down);
            assertThatThrownBy(stage.semaphore::tryAcquire)
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessage("Semaphore '" + Stage.NAME + "': the link is cut");
        }
        Stage stage = new Stage(1);
        Permit permit = stage.take();
        stage.outage("check", down);
        assertThatThrownBy(permit::verify).hasMessage("Semaphore '" + Stage.NAME + "': the link is cut");
        stage.outage("describe", down);
        assertThatThrownBy(stage.semaphore::availablePermits)
                .hasMessage("Semaphore '" + Stage.NAME + "': the link is cut");
    }

    @Test
    void anErrorOfTheAdapterIsAnUnknownOutcomeForAllItWasDoneFor() {
        Stage stage = new Stage(2);
        stage.after("exchange", () -> {
            throw new AssertionError("a bug");
        });
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(first).isCompleted();
        assertThat(second).isCompleted();
    }

    @Test
    void anErrorOfTheAdapterDuringResolutionStrandsNobody() {
        Stage stage = new Stage(1);
        stage.loseReply();
        stage.before("resolve", () -> {
            throw new AssertionError("a bug");
        });
        assertThatThrownBy(stage.semaphore::tryAcquire).isInstanceOf(OutcomeUnknownException.class);
        stage.passMillis(400);
        assertThat(stage.free()).isEqualTo(1);
    }

    @Test
    void anErrorOfTheAdapterInWatchingGrantsNothingTwice() {
        Stage stage = new Stage(2, "recheck=1s");
        stage.takeAsOther();
        stage.before("watch", () -> {
            throw new AssertionError("a bug");
        });
        CompletableFuture<Permit> attempt = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<?> two = stage.semaphore.acquireAsync(2, Duration.ofMinutes(1));
        CompletableFuture<Permit> one = stage.semaphore.acquireAsync();
        stage.passMillis(3_000);
        assertThat(attempt).isCompleted();
        assertThat(two).isNotDone();
        assertThat(one).isNotDone();
        assertThat(stage.calls("resolve")).isZero();
    }

    @Test
    void anAnswerThatDoesNotFitTheQuestionIsNotBelieved() {
        Stage stage = new Stage(2);
        stage.answers = result -> {
            stage.answers = UnaryOperator.identity();
            return result.toBuilder().answers(result.answers().subList(0, 1)).build();
        };
        CompletableFuture<Permit> first = stage.semaphore.acquireAsync(Duration.ZERO);
        CompletableFuture<Permit> second = stage.semaphore.acquireAsync(Duration.ZERO);
        stage.settle();
        assertThat(first).isCompleted();
        assertThat(second).isCompleted();
        assertThat(first.join().slot()).isNotEqualTo(second.join().slot());
        assertThat(stage.free()).isZero();
    }

    private static RuntimeException bug() {
        return new IllegalStateException("a bug");
    }

    private static Throwable failureOf(CompletableFuture<?> future) {
        assertThat(future).isCompletedExceptionally();
        return ((CompletionException) catchThrowable(future::join)).getCause();
    }
}
