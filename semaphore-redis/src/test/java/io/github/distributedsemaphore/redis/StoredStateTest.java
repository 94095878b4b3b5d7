package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a wrong implementation of the stored format would write, command by command: the check that follows every test finds each
 * of it.
 */
class StoredStateTest {
    private Redis redis;
    private RedisCommands<String, String> commands;
    private RedisLayout layout;
    private BackendSession session;
    private Hold hold;
    private String client;

    @BeforeEach
    void open() {
        redis = new Redis();
        redis.damages();
        redis.backend().admin().create("jobs", 3);
        commands = redis.commands();
        layout = redis.layout("jobs");
        session = redis.session("jobs");
        hold = takeOne(session);
        client = commands.zrange(layout.lives(), 0, 0).get(0);
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private String slot() {
        return Integer.toString(hold.slot());
    }

    private void assertFault(String fault) {
        assertThat(redis.stored("jobs").faults())
                .anySatisfy(found -> assertThat(found).contains(fault));
    }

    @Test
    void whatIsStoredByTheAdapterHasNoFault() {
        assertThat(redis.stored("jobs").faults()).isEmpty();
        assertThat(redis.held("jobs")).isEqualTo(1);
    }

    @Test
    void aReleaseThatFreesASlotWhichItDoesNotHoldPutsItInTwoSets() {
        commands.sadd(layout.free(), slot());
        Hold second = takeHolds(redis.session("jobs"), 3).stream()
                .filter(other -> other.slot() == hold.slot())
                .findFirst()
                .orElseThrow();

        assertThat(second.epoch()).isGreaterThan(hold.lastEpoch());
        assertThat(session.check(hold)).as("two clients hold one slot").isEqualTo(HoldState.HELD);
        assertFault("is in several sets");
    }

    @Test
    void anAcquireThatCopiesInsteadOfMovingPutsASlotInTwoSets() {
        commands.sadd(layout.heldBy(client), "2");
        assertFault("slot 2 is in several sets");
    }

    @Test
    void aReleaseInTwoStepsThatIsBrokenOffLeavesASlotInNoSet() {
        commands.srem(layout.heldBy(client), slot());
        assertFault("slot " + slot() + " is in no set");
    }

    @Test
    void aHandOverToAClientThatHasDepartedLeavesTheSlotWithNobody() {
        BackendSession departed = redis.session("jobs");
        takeOne(departed);
        String name = commands.zrange(layout.lives(), 0, -1).stream()
                .filter(living -> !living.equals(client))
                .findFirst()
                .orElseThrow();
        departed.close();
        commands.smove(layout.heldBy(client), layout.heldBy(name), slot());
        assertFault("client " + name + " holds slots and is not among the living");
    }

    @Test
    void aBurialThatLeavesTheSetIsFound() {
        commands.zrem(layout.lives(), client);
        assertFault("client " + client + " holds slots and is not among the living");
    }

    @Test
    void anAcquireWithoutAWatchThatComesAfterTheBurialIsFound() {
        commands.zrem(layout.lives(), client);
        commands.del(layout.heldBy(client));
        commands.sadd(layout.free(), slot());
        commands.smove(layout.free(), layout.heldBy(client), "2");
        assertFault("client " + client + " holds slots and is not among the living");
    }

    @Test
    void aGrowThatAddsSlotsThatAreThereIsFound() {
        commands.sadd(layout.free(), List.of(slot(), "4").toArray(String[]::new));
        commands.hset(layout.control(), RedisLayout.LIMIT_FIELD, "4");
        assertFault("slot " + slot() + " is in several sets");
        assertFault("slot 4 is none of the 3");
    }
}
