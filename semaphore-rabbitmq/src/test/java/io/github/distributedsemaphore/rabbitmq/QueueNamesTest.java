package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** No two queues are called the same. */
class QueueNamesTest {
    @Test
    void namesThatLookLikeQueuesOfOthersCollideWithNone() {
        List<String> semaphores = List.of(
                "x",
                "x:a",
                "x:a:1",
                "x:b:1",
                "x:m",
                "x:a:1:a",
                ":",
                "::m",
                "client",
                "events",
                "x:a:",
                "a\nb",
                "ab",
                "a\r\nb",
                "a%0Ab",
                "%",
                "%%",
                "é",
                "%C3%A9",
                "e\u0301",
                "\ud83d\ude00",
                "\u7f7f");
        Set<String> all = new HashSet<>();
        for (String semaphore : semaphores) {
            QueueNames names = new QueueNames(semaphore);
            assertThat(all.add(names.mutex())).isTrue();
            assertThat(all.add(names.collector())).isTrue();
            assertThat(all.add(names.fences())).isTrue();
            assertThat(all.add(names.waiters())).isTrue();
            for (int slot : List.of(1, 11, 1_000)) {
                assertThat(all.add(names.slot(slot))).isTrue();
                assertThat(all.add(names.hold(slot))).isTrue();
                assertThat(all.add(names.count(SlotBlock.of(slot, slot)))).isTrue();
            }
        }
        assertThat(all).doesNotContain(Mailbox.EXCHANGE);
        // RabbitMQ 4.3 ends a connection to which it has to report an error about a long name with others.
        assertThat(all).allMatch(StandardCharsets.US_ASCII.newEncoder()::canEncode);
        assertThat(new QueueNames("é").slot(1)).isEqualTo("sem:%C3%A9:a:1");
    }

    @Test
    void aNameThatIsTooLongEscapedIsReplacedAndStillFits() {
        String longest = "%".repeat(QueueNames.MAX_NAME_BYTES);
        assertThat(new QueueNames(longest).slot(QueueNames.MAX_SLOTS)).hasSizeLessThan(255);
        assertThat(new QueueNames(longest).mutex()).isNotEqualTo(new QueueNames(longest.substring(1) + "x").mutex());
    }

    @Test
    void theLastSlotOfABlockTellsTheFirst() {
        Map<Integer, Integer> firsts = new HashMap<>();
        for (int limit = 1; limit <= QueueNames.MAX_SLOTS; limit++) {
            List<SlotBlock> blocks = SlotBlock.upTo(limit);
            assertThat(blocks.stream().mapToInt(SlotBlock::size).sum()).isEqualTo(limit);
            for (SlotBlock block : blocks) {
                assertThat(firsts.computeIfAbsent(block.last(), last -> block.first()))
                        .isEqualTo(block.first());
                assertThat(SlotBlock.of(block.first(), limit)).isEqualTo(block);
                assertThat(SlotBlock.of(block.last(), limit)).isEqualTo(block);
            }
        }
    }

    @Test
    void theLongestNameFits() {
        String longest = "x".repeat(QueueNames.MAX_NAME_BYTES);
        assertThat(new QueueNames(longest).slot(QueueNames.MAX_SLOTS)).hasSize(255);
    }
}
