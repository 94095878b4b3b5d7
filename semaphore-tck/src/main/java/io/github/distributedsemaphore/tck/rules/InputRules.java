package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 12: bad input, and bad stored state. */
@Section
public abstract class InputRules {
    /** More than so many have to be allowed, or that none of them collides says little. */
    private static final int FEW_NAMES = 10;

    /** For subclasses. */
    protected InputRules() {}

    @Test
    @Rule("12.1")
    @SuppressWarnings("NullAway") // on purpose
    void badNamesAreRefused(TckFixture tck) {
        SemaphoreClient client = tck.home();
        int most = tck.guarantees().maxNameBytes();
        List<String> bad =
                List.of("", " ", "\t\n", "\u2003", "x".repeat(most + 1), "\u00e9".repeat(most / 2 + 1), "\uD800");
        for (String name : bad) {
            refused("semaphore('" + shown(name) + "')", () -> client.semaphore(name));
            refused("create('" + shown(name) + "')", () -> client.admin().create(name, 1));
            refused("describe('" + shown(name) + "')", () -> client.admin().describe(name));
            refused("destroy('" + shown(name) + "')", () -> client.admin().destroy(name));
        }
        assertThatThrownBy(() -> client.semaphore(null), "semaphore(null)")
                .isInstanceOfAny(NullPointerException.class, IllegalArgumentException.class);
        assertThatThrownBy(() -> client.admin().create(null, 1), "create(null)")
                .isInstanceOfAny(NullPointerException.class, IllegalArgumentException.class);
    }

    private static String shown(String name) {
        return name.length() > 20 ? name.length() + " times '" + name.charAt(0) + "'" : name;
    }

    private static void refused(String what, ThrowingCallable call) {
        assertThatThrownBy(call, what + " must be refused").isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @Rule("12.1")
    void theLongestNameWorksAndIsNotCut(TckFixture tck) {
        int most = tck.guarantees().maxNameBytes();
        String start = tck.uniqueName("long");
        String longest = start + "x".repeat(most - start.length() - 1);
        List<Permit> permits = new ArrayList<>();
        for (String end : List.of("a", "b")) {
            tck.create(longest + end, 1);
            Optional<Permit> permit = tck.home().semaphore(longest + end).tryAcquire();
            assertThat(permit)
                    .as("names of %s bytes that differ in the last share their permit", most)
                    .isPresent();
            permits.add(permit.orElseThrow());
        }
        permits.forEach(Permit::close);
        tck.assertFree(longest + "a", 1);
        tck.home().admin().destroy(longest + "a");
        assertThatCode(() -> tck.take(tck.home().semaphore(longest + "b"), 1).forEach(Permit::close))
                .as("what hinders an acquire after another name of %s bytes was destroyed", most)
                .doesNotThrowAnyException();
    }

    /** A name that is too long for a readable form may be stored in another one. */
    @Test
    @Rule({"12.1", "9.5"})
    void longNamesOfOtherCharactersWorkAndAreListed(TckFixture tck) {
        int most = tck.guarantees().maxNameBytes();
        for (String letter : List.of("x", "/", "\u00e9", "\u4e2d")) {
            String start = tck.uniqueName("long");
            int bytes = letter.getBytes(StandardCharsets.UTF_8).length;
            for (int times : List.of((most - start.length()) / bytes, (most - start.length()) / bytes / 2)) {
                String name = tck.create(start + letter.repeat(times), 1);
                Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
                assertThat(tck.home().admin().describe(name).orElseThrow().holders())
                        .as("the holders of a name of %s times '%s'", times, letter)
                        .hasSize(1);
                if (tck.has(Capability.LISTING)) {
                    assertThat(tck.home().admin().names())
                            .as("the names that are listed, one has %s times '%s'", times, letter)
                            .contains(name);
                }
                held.close();
            }
        }
    }

    @Test
    @Rule("12.2")
    void hostileNamesAreNamesOfTheirOwn(TckFixture tck) throws Exception {
        SemaphoreClient waiting = tck.client(Waiters.hinted(tck));
        String start = tck.uniqueName("hostile");
        Map<String, Permit> held = new LinkedHashMap<>();
        for (String name : tck.createAllowed(HostileNames.WORDS.stream().map(start::concat))) {
            Optional<Permit> permit = tck.home().semaphore(name).tryAcquire();
            assertThat(permit).as("the name '%s' collides with another", name).isPresent();
            assertThat(tck.home().admin().describe(name).orElseThrow().name())
                    .as("the name that is described")
                    .isEqualTo(name);
            held.put(name, permit.orElseThrow());
        }
        assertThat(held).as("hostile names that are allowed").hasSizeGreaterThan(FEW_NAMES);
        assertReleasesReachWaiters(tck, waiting, held);
    }

    private static void assertReleasesReachWaiters(TckFixture tck, SemaphoreClient waiting, Map<String, Permit> held)
            throws Exception {
        Map<String, CompletableFuture<Permit>> waiters = new LinkedHashMap<>();
        held.keySet().forEach(name -> waiters.put(name, waiting.semaphore(name).acquireAsync()));
        Pause.millis(tck.quiet().multipliedBy(2).toMillis());
        Iterator<Permit> releases = held.values().iterator();
        for (Map.Entry<String, CompletableFuture<Permit>> waiter : waiters.entrySet()) {
            String name = waiter.getKey();
            releases.next().close();
            Waiters.served(tck, waiter.getValue(), "a release does not reach who waits at '" + name + "'")
                    .close();
            tck.assertFree(name, 1);
        }
    }

    @Test
    @Rule({"12.2", "1.11", "9.5"})
    void generatedNamesAreNamesOfTheirOwnAndListedAsTheyAre(TckFixture tck) {
        String start = tck.uniqueName("pairs");
        Map<String, Permit> held = new LinkedHashMap<>();
        // A backend may refuse a name, but not change it.
        for (String name : tck.createAllowed(HostileNames.around(start, tck.random()).stream())) {
            Optional<Permit> permit = tck.home().semaphore(name).tryAcquire();
            assertThat(permit)
                    .as("the name %s shares its permit with one of these: %s", escaped(name), held.keySet())
                    .isPresent();
            held.put(escaped(name), permit.orElseThrow());
        }
        assertThat(held).as("names that are allowed").hasSizeGreaterThan(FEW_NAMES);
        if (tck.has(Capability.LISTING)) {
            List<String> names = tck.home().admin().names();
            assertThat(names).as("the names that are listed").isSorted();
            List<String> listed = names.stream()
                    .filter(name -> name.contains(start))
                    .map(InputRules::escaped)
                    .toList();
            assertThat(listed).as("the names that are listed").containsExactlyInAnyOrderElementsOf(held.keySet());
        }
        held.values().forEach(Permit::close);
    }

    /** So that a message shows how two names differ. */
    private static String escaped(String name) {
        StringBuilder text = new StringBuilder();
        name.chars()
                .forEach(c -> text.append(
                        c > ' ' && c < 127 && c != '\\' ? Character.toString(c) : String.format("\\u%04x", c)));
        return text.toString();
    }

    /** What is stored for one slot may have no room for a label that takes more bytes than it has characters. */
    @Test
    @Rule("12.2")
    void hostileLabelsAreShownAsTheyAreOrRefused(TckFixture tck) throws Exception {
        String name = tck.create(2);
        String longest = "x".repeat(200);
        List<Permit> beside =
                tck.take(tck.client(Waiters.lasting(tck).labelled(longest)).semaphore(name), 2);
        beside.remove(0).release();
        long since = System.nanoTime();
        Stream<String> asLong = Stream.of("\u8a9e".repeat(200), "\ud83d\ude00".repeat(100));
        for (String hostile : Stream.concat(HostileNames.WORDS.stream(), asLong).toList()) {
            if (hostile.chars().anyMatch(Character::isISOControl)) {
                refused("the label '" + hostile + "'", () -> tck.client(hostile));
                continue;
            }
            SemaphoreClient client = tck.client(hostile);
            Permit permit = client.semaphore(name).acquire(tck.patience());
            List<Holder> holders =
                    tck.home().admin().describe(name).orElseThrow().holders();
            if (!permit.isValid() || !beside.get(0).isValid()) {
                tck.abortIfStoodStill(tck.guarantees().detectionMax().dividedBy(4), since);
            }
            assertThat(holders)
                    .as("the holders, with their labels")
                    .extracting(Holder::label)
                    .containsExactlyInAnyOrder(hostile, longest);
            permit.release();
            client.close();
        }
        beside.get(0).release();
        refused("a label of 201 characters", () -> tck.client(longest + "x"));
    }

    @Test
    @Rule("12.3")
    void numbersOutOfRangeAreRefusedAndChangeNothing(TckFixture tck) {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        SemaphoreAdmin admin = tck.home().admin();
        int most = tck.guarantees().maxPermits();
        String fresh = tck.uniqueName("never");
        List<Integer> limits = new ArrayList<>(List.of(0, -1, Integer.MIN_VALUE));
        if (most < Integer.MAX_VALUE) {
            limits.addAll(List.of(most + 1, Integer.MAX_VALUE));
        }
        for (int limit : limits) {
            refused("create with limit " + limit, () -> admin.create(fresh, limit));
            refused("resize to limit " + limit, () -> admin.resize(name, limit));
        }
        for (int permits : new int[] {0, -1, Integer.MIN_VALUE, 3, Integer.MAX_VALUE}) {
            refused("tryAcquire(" + permits + ") of 2", () -> semaphore.tryAcquire(permits));
            refused("tryAcquire(" + permits + ", 0) of 2", () -> semaphore.tryAcquire(permits, Duration.ZERO));
            refused("acquire(" + permits + ") of 2", () -> semaphore.acquire(permits));
            refused("acquire(" + permits + ", wait) of 2", () -> semaphore.acquire(permits, tck.patience()));
            refused(
                    "acquireAsync(" + permits + ") of 2",
                    () -> Waiters.joined(semaphore.acquireAsync(permits), tck.patience()));
            refused(
                    "acquireAsync(" + permits + ", wait) of 2",
                    () -> Waiters.joined(semaphore.acquireAsync(permits, tck.patience()), tck.patience()));
        }
        refused("a ping that has no time for its answer", () -> tck.home().ping(Duration.ZERO));
        assertThat(admin.describe(fresh))
                .as("a refused create created something")
                .isEmpty();
        assertThat(admin.describe(name).orElseThrow().limit())
                .as("the limit after refused resizes")
                .isEqualTo(2);
        tck.assertFree(name, 2);
    }

    /** A setting that is misspelt would otherwise be one that is not in force. */
    @Test
    @Rule("12.3")
    void settingsThatNobodyKnowsOrThatAreOutOfRangeAreRefused(TckFixture tck) {
        // An adapter without one of the last four does not know it.
        for (Map.Entry<String, String> setting : List.of(
                Map.entry("nosuch", "1"),
                Map.entry("recheck", "0s"),
                Map.entry("handOffs", "-1"),
                Map.entry("detection", "0s"),
                Map.entry("detection", "soon"),
                Map.entry("timeout", "0s"),
                Map.entry("timeout", "soon"))) {
            refused(
                    "the setting " + setting,
                    () -> tck.client(ClientSpec.plain().with(setting.getKey(), setting.getValue())));
        }
    }

    @Test
    @Rule({"12.4", "12.7"})
    void damagedStateIsAnErrorThatNamesItAndHarmsNoOther(TckFixture tck) throws Exception {
        StateProbe state = tck.state();
        if (state.corruptions().isEmpty()) {
            throw new TestAbortedException("the harness has no StateProbe.corruptions");
        }
        String healthy = tck.create(1);
        for (String kind : state.corruptions()) {
            String name = tck.create(2);
            tck.take(tck.home().semaphore(name), 2).forEach(Permit::close);
            state.corrupt(name, kind);
            SemaphoreClient meeting = tck.client();
            DistributedSemaphore semaphore = meeting.semaphore(name);
            try {
                assertCreateOverwritesNothing(tck, name, kind);
                // The second time too: what was refused once must not count as known.
                for (ThrowingCallable use : List.<ThrowingCallable>of(
                        semaphore::tryAcquire,
                        semaphore::tryAcquire,
                        () -> semaphore.acquire(tck.patience()),
                        semaphore::availablePermits,
                        () -> tck.home().admin().status(name),
                        () -> tck.home().admin().describe(name))) {
                    assertThatThrownBy(use, "the use of a semaphore whose state is damaged: %s", kind)
                            .isInstanceOf(IncompatibleStateException.class)
                            .hasMessageContaining(name);
                }
                tck.assertFree(healthy, 1);
                assertOtherNamesWork(tck, meeting, healthy, kind);
                assertListed(tck, healthy, kind);
            } finally {
                state.remove(name);
            }
            // What is removed by hand harms nobody afterwards.
            tck.home().admin().create(name, 2);
            tck.assertFree(name, 2);
        }
    }

    /** A program creates its semaphores when it starts: what it finds there may be of a later version. */
    private static void assertCreateOverwritesNothing(TckFixture tck, String name, String kind) {
        try {
            assertThat(tck.client().admin().create(name, 2))
                    .as("a create over damaged state says that it created it: %s", kind)
                    .isFalse();
        } catch (IncompatibleStateException e) {
            assertThat(e).hasMessageContaining(name);
        }
    }

    /** For the client that met the damage too, which has connections, threads and queues for all names. */
    private static void assertOtherNamesWork(TckFixture tck, SemaphoreClient meeting, String healthy, String kind)
            throws Exception {
        Permit held = tck.take(tck.home().semaphore(healthy), 1).get(0);
        Task<Permit> waiter = Waiters.blocked(tck, "waiter at a healthy name", meeting.semaphore(healthy));
        long since = System.nanoTime();
        held.release();
        Waiters.served(tck, waiter, since, "a client that met damaged state serves no other name: " + kind)
                .release();
    }

    private static void assertListed(TckFixture tck, String healthy, String kind) {
        if (tck.has(Capability.LISTING)) {
            assertThatCode(() -> assertThat(tck.home().admin().names()).contains(healthy))
                    .as("the list of names, which has that of a healthy one beside one that is damaged: %s", kind)
                    .doesNotThrowAnyException();
        }
    }

    @Test
    @Rule("12.5")
    void slotsStoredBeyondTheLimitAreNotGranted(TckFixture tck) throws Exception {
        StateProbe state = tck.state();
        int limit = 2;
        String name = tck.create(limit);
        tck.take(tck.home().semaphore(name), limit).forEach(Permit::close);
        state.plantSlots(name, 2);
        try {
            plantedSlotsCountForNothing(tck, name, limit);
        } catch (IncompatibleStateException e) {
            // To say that something is wrong there is as good as to pass it over, if it says where.
            assertThat(e).hasMessageContaining(name);
            state.remove(name);
        }
    }

    private static void plantedSlotsCountForNothing(TckFixture tck, String name, int limit) throws Exception {
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        DistributedSemaphore elsewhere = tck.client().semaphore(name);
        assertThat(elsewhere.availablePermits())
                .as("free with slots planted beyond the limit")
                .isEqualTo(limit);
        List<Permit> held = tck.take(semaphore, limit);
        assertThat(held).as("slots granted").extracting(Permit::slot).containsExactlyInAnyOrder(1, 2);
        for (DistributedSemaphore full : List.of(semaphore, elsewhere)) {
            assertThat(full.tryAcquire())
                    .as("a permit beyond the limit of %d, where slots were planted", limit)
                    .isEmpty();
            assertThat(full.tryAcquire(tck.quiet()))
                    .as("a permit beyond the limit of %d for a waiting caller, where slots were planted", limit)
                    .isEmpty();
        }
        SemaphoreDescription seen = tck.home().admin().describe(name).orElseThrow();
        assertThat(seen.limit()).as("the limit").isEqualTo(limit);
        assertThat(seen.free()).as("free while all are held").isZero();
        Permit first = held.get(0);
        first.release();
        Permit next = elsewhere.acquire(tck.patience());
        assertThat(next.slot()).as("the slot that is granted next").isEqualTo(first.slot());
        next.release();
        held.get(1).release();
        tck.assertFree(name, limit);
    }
}
