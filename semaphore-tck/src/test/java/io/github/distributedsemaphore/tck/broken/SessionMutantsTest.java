package io.github.distributedsemaphore.tck.broken;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.platform.engine.discovery.MethodSelector;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Each wrong session is found out by the rule of the contract that it breaks. */
class SessionMutantsTest {
    private static final ThreadLocal<Mutant> BROKEN = new ThreadLocal<>();

    /** What is wrong, and the number of the rule that has to say so. */
    @SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
    enum Mutant {
        SERVES_THE_LAST_FIRST("S.1", call -> {
            if (!call.is(BackendSession.class, "exchange")) {
                return call.proceed();
            }
            ExchangeRequest asked = call.argument(0, ExchangeRequest.class);
            ExchangeResult result = (ExchangeResult) call.proceedWith(new ExchangeRequest(
                    asked.giveBack(), reversed(asked.wants()), asked.epochs(), asked.waiting(), asked.attempts()));
            return with(result, reversed(result.answers()));
        }),
        TAKES_WHAT_IS_THERE_AND_REFUSES("S.2", call -> {
            Object result = call.proceed();
            if (result instanceof ExchangeResult refused && refused.answers().equals(List.of(Answer.FULL))) {
                call.proceedWith(new ExchangeRequest(List.of(), List.of(1), 1, false));
            }
            return result;
        }),
        TOO_MANY_ARE_MERELY_TOO_MANY_NOW(
                "S.3", answers(answer -> answer instanceof Answer.ExceedsLimit ? Answer.FULL : answer)),
        NO_SEMAPHORE_IS_A_FULL_ONE("S.3", answers(answer -> answer.equals(Answer.MISSING) ? Answer.FULL : answer)),
        GRANTS_WHAT_IT_HAS("S.4", call -> {
            Object result = call.proceed();
            ExchangeRequest asked = call.is(BackendSession.class, "exchange")
                    ? call.argument(0, ExchangeRequest.class)
                    : new ExchangeRequest(List.of(), List.of(), 1, false);
            return result instanceof ExchangeResult full
                            && asked.wants().equals(List.of(1))
                            && full.answers().equals(List.of(Answer.FULL))
                    ? with(full, List.of(new Answer.Granted(List.of(new Hold(1, 7, 7)))))
                    : result;
        }),
        TAKES_BEFORE_IT_GIVES_BACK("S.5", call -> {
            if (!call.is(BackendSession.class, "exchange")) {
                return call.proceed();
            }
            ExchangeRequest asked = call.argument(0, ExchangeRequest.class);
            ExchangeResult taken = (ExchangeResult)
                    call.proceedWith(new ExchangeRequest(List.of(), asked.wants(), asked.epochs(), false));
            ExchangeResult given = (ExchangeResult)
                    call.proceedWith(new ExchangeRequest(asked.giveBack(), List.of(), asked.epochs(), false));
            return taken.toBuilder().lost(given.lost()).build();
        }),
        RESERVES_MORE_THAN_IS_ASKED("S.6", call -> {
            if (!call.is(BackendSession.class, "exchange")) {
                return call.proceed();
            }
            ExchangeRequest asked = call.argument(0, ExchangeRequest.class);
            return call.proceedWith(
                    new ExchangeRequest(asked.giveBack(), asked.wants(), asked.epochs() + 1, asked.waiting()));
        }),
        GIVING_BACK_ALWAYS_SUCCEEDS("S.7", call -> {
            Object result = call.proceed();
            return result instanceof ExchangeResult given
                    ? given.toBuilder().lost(Set.of()).build()
                    : result;
        }),
        CHECK_ASKS_NOBODY("S.8", call -> call.is(BackendSession.class, "check") ? HoldState.HELD : call.proceed()),
        RENEWAL_FINDS_NO_LOSS("S.8", renewals(found -> new Renewal(found.validUntil(), Set.of(), found.retired()))),
        RENEWAL_FINDS_NOTHING_RETIRED(
                "S.9", renewals(found -> new Renewal(found.validUntil(), found.lost(), Set.of()))),
        VALID_FOR_EVER("S.10", renewals(found -> new Renewal(Deadline.NEVER, found.lost(), found.retired()))),
        RENEWAL_DOES_NOT_ASK("S.11", call -> {
            return call.is(BackendSession.class, "renew")
                    ? new Renewal(Deadline.after(System.nanoTime(), Duration.ofSeconds(1)), Set.of(), Set.of())
                    : call.proceed();
        }),
        CLOSE_IS_FORGOTTEN("S.12", call -> call.is(BackendSession.class, "close") ? null : call.proceed()),
        WATCHES_NOTHING(
                "S.13",
                call -> call.is(BackendSession.class, "watch") ? (BackendSession.Watch) () -> {} : call.proceed()),
        REFUSES_WHOEVER_WAITS("S.13", call -> {
            boolean waits = call.is(BackendSession.class, "exchange")
                    && call.argument(0, ExchangeRequest.class).waiting();
            return waits ? ExchangeResult.of(List.of(Answer.FULL)).build() : call.proceed();
        }),
        AN_INTERRUPT_IS_LOST("S.14", call -> {
            boolean unused = call.is(BackendSession.class, "exchange") && Thread.interrupted();
            return call.proceed();
        }),
        GRANTS_WHAT_OTHERS_HAVE(
                "S.15",
                answers(answer -> answer.equals(Answer.FULL)
                        ? new Answer.Granted(List.of(new Hold(1, Long.MAX_VALUE, Long.MAX_VALUE)))
                        : answer));

        private final String rule;
        private final Bent.Bend bend;

        Mutant(String rule, Bent.Bend bend) {
            this.rule = rule;
            this.bend = bend;
        }

        private static <T> List<T> reversed(List<T> list) {
            List<T> copy = new ArrayList<>(list);
            Collections.reverse(copy);
            return copy;
        }

        private static ExchangeResult with(ExchangeResult result, List<Answer> answers) {
            return ExchangeResult.of(answers)
                    .lost(result.lost())
                    .validUntil(result.validUntil())
                    .build();
        }

        private static Bent.Bend answers(UnaryOperator<Answer> change) {
            return call -> {
                Object result = call.proceed();
                return result instanceof ExchangeResult right
                        ? with(right, right.answers().stream().map(change).toList())
                        : result;
            };
        }

        private static Bent.Bend renewals(UnaryOperator<Renewal> change) {
            return call -> {
                Object result = call.proceed();
                return result instanceof Renewal right ? change.apply(right) : result;
            };
        }
    }

    /** The contract over a backend that is wrong; JUnit finds it by the selector below only. */
    static class BrokenSession extends SessionTck {
        private final ProbedServer server = new ProbedServer(Duration.ofSeconds(2), MemoryServer.ALL);

        @Override
        protected SemaphoreBackend open(HolderInfo self) {
            return Bent.around(SemaphoreBackend.class, new MemoryBackend(server, self), BROKEN.get().bend);
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyMutantIsFoundByTheRuleItBreaks(Mutant mutant) {
        BROKEN.set(mutant);
        try {
            List<String> failed = EngineTestKit.engine("junit-jupiter")
                    .selectors(methods(mutant.rule))
                    .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                    .execute()
                    .testEvents()
                    .failed()
                    .stream()
                    .map(event -> event.getTestDescriptor().getDisplayName().replaceFirst(" .*", ""))
                    .toList();
            assertThat(failed).containsExactly(mutant.rule);
        } finally {
            BROKEN.remove();
        }
    }

    /** A rule may have several tests, and reflection gives them in any order. */
    private static List<MethodSelector> methods(String rule) {
        return Arrays.stream(SessionTck.class.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(DisplayName.class)
                        && method.getAnnotation(DisplayName.class).value().startsWith(rule + " "))
                .map(method -> selectMethod(BrokenSession.class, method))
                .toList();
    }
}
