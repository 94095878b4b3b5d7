package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Section 15: who may do what, and what nobody may see. */
@Section
public abstract class AccessRules {
    /** More than one request, with those that come while it is under way. */
    private static final int CALLS = 20;

    private static final int REFUSALS = 5;

    /** For subclasses. */
    protected AccessRules() {}

    @Test
    @Rule("15.1")
    void secretsAreShownNowhere(TckFixture tck) {
        Accounts accounts = tck.accounts();
        assertThat(accounts.secrets())
                .as("the secrets of the harness, without which nothing is looked for")
                .isNotEmpty();
        List<String> seen = new ArrayList<>();
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(both(printed, out), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(both(printed, err), true, StandardCharsets.UTF_8));
        try {
            use(tck, accounts, seen);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        seen.add(printed.toString(StandardCharsets.UTF_8));
        for (String secret : accounts.secrets()) {
            assertThat(secret).as("a secret of the harness").isNotBlank();
            assertThat(seen.stream().filter(text -> text.contains(secret)))
                    .as("texts in which a secret is shown")
                    .isEmpty();
        }
    }

    /** Goes through what a client does, and notes each text that somebody could see. */
    private static void use(TckFixture tck, Accounts accounts, List<String> seen) {
        String name = tck.create(1);
        SemaphoreClient client = tck.own(accounts.connect(ClientSpec.plain().labelled("secretive")));
        Permit permit = tck.take(client.semaphore(name), 1).get(0);
        seen.addAll(List.of(
                client.toString(),
                client.guarantees().toString(),
                client.semaphore(name).toString(),
                permit.toString(),
                client.admin().describe(name).toString()));
        Thread.getAllStackTraces().keySet().forEach(thread -> seen.add(thread.getName()));
        ProcessHandle.current()
                .descendants()
                .forEach(child -> child.info().commandLine().ifPresent(seen::add));
        seen.addAll(tck.harness().leftovers().things());
        permit.release();
        seen.add(trace(catchThrowable(() -> client.semaphore(name + "-missing").tryAcquire())));
        seen.add(trace(wrongly(tck, accounts, name)));
    }

    private static String trace(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }

    private static OutputStream both(OutputStream one, OutputStream other) {
        return new OutputStream() {
            @Override
            public synchronized void write(int b) throws java.io.IOException {
                one.write(b);
                other.write(b);
            }
        };
    }

    private static Throwable wrongly(TckFixture tck, Accounts accounts, String name) {
        return catchThrowable(() -> {
            SemaphoreClient client = tck.own(accounts.connectWrongly(ClientSpec.plain()));
            var unused = client.semaphore(name).tryAcquire();
        });
    }

    @Test
    @Rule("15.4")
    void theLeastRightsSufficeForAllThatAClientDoes(TckFixture tck) {
        Accounts accounts = tck.accounts();
        SemaphoreClient one = tck.own(accounts.connect(ClientSpec.plain()));
        SemaphoreClient other = tck.own(accounts.connect(ClientSpec.plain()));
        String name = tck.created(tck.uniqueName("least"));
        Workload workload = Workload.of(2, 4, tck.random().nextLong())
                .withRounds(tck.rounds(500, 50), 1_000)
                .untilHeld(2);
        Map<String, ThrowingCallable> uses = new LinkedHashMap<>();
        uses.put("create", () -> one.admin().create(name, 2));
        List<History> histories = new ArrayList<>();
        uses.put(
                "contend",
                () -> histories.add(
                        workload.run(List.of(one.semaphore(name), other.semaphore(name)), tck.recorder("least"))));
        uses.put("hold", () -> hold(tck, one, other, name));
        uses.put("resize", () -> other.admin().resize(name, 3));
        uses.put("describe", () -> assertThat(one.admin().describe(name)).isPresent());
        if (tck.has(Capability.LISTING)) {
            uses.put("names", () -> assertThat(one.admin().names()).contains(name));
        }
        uses.put("destroy", () -> assertThat(other.admin().destroy(name)).isTrue());
        uses.forEach((what, use) -> assertThat(catchThrowable(use))
                .as("what hinders to %s with the least rights", what)
                .isNull());
        histories.forEach(tck::judge);
    }

    /** Holds, waits, renews and asks. */
    private static void hold(TckFixture tck, SemaphoreClient one, SemaphoreClient other, String name) throws Exception {
        PermitGroup held = one.semaphore(name).acquire(2, tck.patience());
        CompletableFuture<Permit> waiter = other.semaphore(name).acquireAsync(Duration.ofMinutes(10));
        Permit first = held.permits().get(0);
        long start = System.nanoTime();
        long until = first.validUntil().isNever() ? 0 : first.validUntil().nanosFrom(start);
        tck.await(
                "a permit is renewed",
                tck.guarantees().detectionMax().plus(tck.patience()),
                () -> first.validUntil().isNever() || first.validUntil().nanosFrom(start) > until);
        assertThat(first.verify()).isEqualTo(Verification.HELD);
        held.release();
        Waiters.served(tck, waiter, "a release did not wake the waiter of another client")
                .release();
    }

    @Test
    @Rule("15.2")
    void wrongCredentialsAreRefusedAtOnceAndTakeNothing(TckFixture tck) {
        Accounts accounts = tck.accounts();
        String name = tck.create(1);
        long start = System.nanoTime();
        Throwable refusal = wrongly(tck, accounts, name);
        long took = System.nanoTime() - start;
        assertThat(refusal).as("what wrong credentials lead to").isInstanceOf(BackendAccessException.class);
        tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound(), took);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule({"15.2", "16.1"})
    void aMissingRightIsRefusedAndChangesNothing(TckFixture tck) {
        Accounts accounts = tck.accounts();
        String name = tck.create(2);
        String other = tck.uniqueName("other");
        SemaphoreClient client = tck.own(accounts.connectToLook(ClientSpec.plain()));
        SemaphoreDescription before = tck.home().admin().describe(name).orElseThrow();
        Map<String, ThrowingCallable> attempts = Map.of(
                "tryAcquire", () -> client.semaphore(name).tryAcquire(),
                "acquire", () -> client.semaphore(name).acquire(tck.patience()),
                "create", () -> client.admin().create(tck.created(other), 1),
                "resize", () -> client.admin().resize(name, 1),
                "destroy", () -> client.admin().destroy(name));
        attempts.forEach((what, attempt) -> {
            long start = System.nanoTime();
            assertThat(catchThrowable(attempt))
                    .as("%s by an account that may only look", what)
                    .isInstanceOf(BackendAccessException.class);
            tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound(), System.nanoTime() - start);
        });
        assertRefusalsLeaveNoThreads(tck, attempts);
        assertThat(tck.home().admin().describe(name))
                .as("what was not to be changed")
                .contains(before);
        assertThat(tck.home().admin().describe(other))
                .as("what was not to be created")
                .isEmpty();
        tck.assertFree(name, 2);
    }

    /** What a refused call leaves open ends with its client, and until then there is more of it with each call. */
    private static void assertRefusalsLeaveNoThreads(TckFixture tck, Map<String, ThrowingCallable> attempts) {
        int before = Thread.getAllStackTraces().size();
        attempts.forEach((what, attempt) -> {
            for (int i = 0; i < REFUSALS; i++) {
                assertThat(catchThrowable(attempt)).as(what).isInstanceOf(BackendAccessException.class);
            }
        });
        tck.await(
                REFUSALS + " more refused calls of each kind leave no threads: there were " + before + " before",
                () -> Thread.getAllStackTraces().size() < before + REFUSALS);
    }

    /** Calls that wait share requests, and the refusal of one request is an answer to each of them. */
    @Test
    @Rule("15.2")
    void eachOfManyCallsLearnsThatARightIsMissing(TckFixture tck) {
        String name = tck.create(1);
        SemaphoreClient client = tck.own(tck.accounts().connectToLook(ClientSpec.plain()));
        List<CompletableFuture<Permit>> calls = Stream.generate(
                        () -> client.semaphore(name).acquireAsync(Duration.ofMinutes(10)))
                .limit(CALLS)
                .toList();
        long end = System.nanoTime() + tck.patience().toNanos();
        for (CompletableFuture<Permit> call : calls) {
            assertThat(catchThrowable(() -> call.get(end - System.nanoTime(), TimeUnit.NANOSECONDS)))
                    .as("the end of one of %s calls at once, by an account that may only look", CALLS)
                    .hasCauseInstanceOf(BackendAccessException.class);
        }
        tck.assertFree(name, 1);
    }
}
