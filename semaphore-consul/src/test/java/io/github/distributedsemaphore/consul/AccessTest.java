package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tokens with and without rights, on an agent that denies by default. */
class AccessTest {
    private static final String ROOT_TOKEN = UUID.randomUUID().toString();
    private static final String NAME = "guarded";
    private static final int CHANGES = 200;
    private static ConsulAgent agent;

    @BeforeAll
    static void start() {
        agent = ConsulAgent.inMemory(FreePorts.choose(4), ROOT_TOKEN, "-hcl", ConsulServer.rights(ROOT_TOKEN, "deny"));
        try (SemaphoreBackend backend = open(ROOT_TOKEN)) {
            backend.admin().create(NAME, 2);
        }
    }

    @AfterAll
    static void stop() {
        agent.close();
    }

    private static SemaphoreBackend open(String token) {
        return Consul.openAt(
                "consul://" + agent.server().address() + "?prefix=app" + (token.isEmpty() ? "" : "&token=" + token));
    }

    private static String tokenFor(String rules) {
        return agent.server().createToken(rules);
    }

    @Test
    void theRightsThatTheDocumentsNameAreEnough() {
        String token =
                tokenFor("key_prefix \"app/\" { policy = \"write\" } session_prefix \"\" { policy = \"write\" }");
        try (SemaphoreBackend backend = open(token);
                BackendSession session = backend.open("enough", new Consul.Losses())) {
            assertThat(backend.admin().create("enough", 1)).isTrue();
            Hold hold = takeOne(session);
            assertThat(session.renew(List.of(hold)).lost()).isEmpty();
            assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
            assertThat(giveBack(session, hold).lost()).isEmpty();
            assertThat(backend.admin().names()).contains("enough", NAME);
            assertThat(backend.admin().destroy("enough")).isTrue();
        }
    }

    @Test
    void withoutRightsNothingLooksEmptyOrMissing() {
        for (String token : List.of("", UUID.randomUUID().toString(), tokenFor("operator = \"read\""))) {
            try (SemaphoreBackend backend = open(token);
                    BackendSession session = backend.open(NAME, new Consul.Losses())) {
                refused(token, () -> take(session, 1));
                refused(token, () -> backend.admin().describe(NAME));
                refused(token, () -> backend.admin().create(NAME, 2));
                refused(token, () -> backend.admin().create("other", 2));
                refused(token, () -> backend.admin().resize(NAME, 3));
                refused(token, () -> backend.admin().destroy(NAME));
                refused(token, () -> backend.admin().retiredHolders(NAME));
                refused(token, () -> backend.admin().names());
            }
        }
    }

    @Test
    void whoMayOnlyReadSeesEverythingAndChangesNothing() {
        String token = tokenFor("key_prefix \"app/\" { policy = \"read\" } session_prefix \"\" { policy = \"write\" }");
        try (SemaphoreBackend backend = open(token);
                BackendSession session = backend.open(NAME, new Consul.Losses())) {
            assertThat(backend.admin().describe(NAME).orElseThrow().free()).isEqualTo(2);
            assertThat(backend.admin().names()).contains(NAME);
            refused(token, () -> take(session, 1));
            refused(token, () -> backend.admin().resize(NAME, 3));
            refused(token, () -> backend.admin().destroy(NAME));
            assertThat(backend.admin().describe(NAME).orElseThrow().free()).isEqualTo(2);
        }
    }

    @Test
    void theTokenIsSentInAHeaderAndInNoAddress() {
        try (BrokenLink link = new BrokenLink(agent.server().address());
                SemaphoreBackend backend =
                        Consul.openAt("consul://" + link.address() + "?prefix=app&dc=dc1&token=" + ROOT_TOKEN);
                BackendSession session = backend.open(NAME, new Consul.Losses())) {
            giveBack(session, takeOne(session));
            backend.admin().names();
            List<String> heads = link.requests().stream()
                    .filter(text -> text.contains(" HTTP/1.1"))
                    .toList();
            assertThat(heads)
                    .hasSizeGreaterThan(4)
                    .allSatisfy(head -> assertThat(head.lines().findFirst().orElseThrow())
                            .contains("dc=dc1")
                            .doesNotContain(ROOT_TOKEN))
                    .allSatisfy(head -> assertThat(head).contains("X-Consul-Token: " + ROOT_TOKEN));
        }
    }

    /** An empty listing may be of a moment without rights, and what is asked after it of a moment with them. */
    @Test
    void rightsThatComeAndGoMakeNothingLookMissing() throws Exception {
        ConsulServer operator = agent.server();
        String policy = "changing-" + UUID.randomUUID();
        String rules = "key_prefix \"app/\" { policy = \"%s\" } session_prefix \"\" { policy = \"write\" }";
        String token = operator.createToken(policy, rules.formatted("write"));
        try (SemaphoreBackend backend = open(token)) {
            CompletableFuture<Void> changes = CompletableFuture.runAsync(() -> {
                for (int i = 0; i < CHANGES; i++) {
                    operator.changePolicy(policy, rules.formatted(i % 2 == 0 ? "deny" : "write"));
                }
            });
            while (!changes.isDone()) {
                try {
                    assertThat(backend.admin().describe(NAME)).isPresent();
                } catch (BackendAccessException e) {
                    assertThat(e).hasMessageContaining("write");
                } catch (BackendUnavailableException e) {
                    // The rights changed between its requests, again and again.
                    assertThat(e).hasMessageContaining("may lack the right");
                }
            }
            changes.join();
        }
    }

    /** As where the setting 'dc' names another datacenter, whose catalog does not have the agent's node. */
    @Test
    void aNodeThatTheCatalogDoesNotHaveIsAMatterOfTheSettings() {
        ConsulServer server = ConsulServer.shared();
        String name = Consul.uniqueName();
        String node = "{\"Node\": \"" + name + ".example\", \"Address\": \"127.0.0.1\"}";
        try (SemaphoreBackend backend = Consul.open("node=" + name + ".example");
                BackendSession session = backend.open(name, new Consul.Losses())) {
            backend.admin().create(name, 1);
            assertThatThrownBy(() -> take(session, 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("node '" + name + ".example'")
                    .hasMessageContaining("setting 'node'")
                    .hasMessageContaining("setting 'dc'");
            server.send("PUT", "/v1/catalog/register", node);
            giveBack(session, takeOne(session));
        } finally {
            server.send("PUT", "/v1/catalog/deregister", node);
            server.deleteBelow(name);
        }
    }

    private static void refused(String token, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("write")
                .satisfies(thrown -> assertThat(
                                token.isEmpty() || !thrown.toString().contains(token))
                        .as("the token is not in the message")
                        .isTrue());
    }
}
