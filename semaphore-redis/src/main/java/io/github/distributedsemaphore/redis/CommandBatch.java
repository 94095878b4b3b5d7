package io.github.distributedsemaphore.redis;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Commands that go to the server in one write, at most one transaction among them. Each is known by the index that {@link
 * #add} returned. For one thread.
 */
final class CommandBatch {
    private final List<RedisCommand<String, String, Reply>> commands = new ArrayList<>();
    private final List<Part> parts = new ArrayList<>();
    private final List<ReplyOutput> outputs = new ArrayList<>();

    /** Volatile, for those who give it up. */
    private volatile @Nullable CompletableFuture<Reply> last;

    private int multi = -1;
    private int exec = -1;
    private boolean moves;

    int add(RedisVerb verb, String... arguments) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        for (int i = 0; i < arguments.length; i++) {
            if (i == 0) {
                args.addKey(arguments[i]);
            } else {
                args.addValue(arguments[i]);
            }
        }
        return add(verb, args);
    }

    private int add(ProtocolKeyword verb, CommandArgs<String, String> args) {
        ReplyOutput output = new ReplyOutput();
        outputs.add(output);
        Part part = new Part(verb, output, args);
        parts.add(part);
        commands.add(part);
        return commands.size() - 1;
    }

    /**
     * Lettuce has a buffer for each command. Here the first one writes the bytes of all into its own, and the others write nothing:
     * with half a dozen small commands a round trip is a tenth shorter so.
     */
    private final class Part extends Command<String, String, Reply> {
        private Part(ProtocolKeyword verb, ReplyOutput output, CommandArgs<String, String> args) {
            super(verb, output, args);
        }

        @Override
        public void encode(ByteBuf buffer) {
            if (parts.get(0).equals(this)) {
                parts.forEach(part -> part.encodeAlone(buffer));
            }
        }

        private void encodeAlone(ByteBuf buffer) {
            super.encode(buffer);
        }
    }

    CommandBatch multi() {
        multi = add(RedisVerb.MULTI);
        return this;
    }

    void exec() {
        exec = add(RedisVerb.EXEC);
    }

    /** The same commands, to be sent again: each can be answered once only. */
    CommandBatch again() {
        CommandBatch copy = new CommandBatch();
        commands.forEach(command -> copy.add(command.getType(), command.getArgs()));
        copy.multi = multi;
        copy.exec = exec;
        copy.moves = moves;
        return copy;
    }

    /** The batch changes something without a transaction. */
    void moves() {
        moves = true;
    }

    /** Whether something may have changed if no reply comes. */
    boolean mayChange() {
        return moves || exec >= 0;
    }

    /** What to send. */
    List<RedisCommand<String, String, Reply>> commands() {
        return commands;
    }

    /**
     * Ends with the last command; none is added after it. Replies come in the order of the commands, so it is the only one to wait for.
     *
     * <p>It is not the command itself: Lettuce expects no reply to a command that is done before it is written, and the first one writes
     * the bytes of all. Given up, such a command would leave its reply to the next batch.
     */
    CompletableFuture<Reply> last() {
        CompletableFuture<Reply> known = last;
        if (known == null) {
            int index = commands.size() - 1;
            AsyncCommand<String, String, Reply> command = new AsyncCommand<>(commands.get(index));
            commands.set(index, command);
            CompletableFuture<Reply> own = new CompletableFuture<>();
            CompletableFuture<?> unused = command.whenComplete((reply, failure) -> {
                if (failure == null) {
                    own.complete(reply);
                } else {
                    own.completeExceptionally(failure);
                }
            });
            known = own;
            last = known;
        }
        return known;
    }

    /** No reply is waited for any longer. Does nothing if it is there, or if nobody waits for it. */
    void giveUp() {
        CompletableFuture<Reply> waitedFor = last;
        if (waitedFor != null) {
            waitedFor.completeExceptionally(new TimeoutException("no reply in time"));
        }
    }

    boolean isEmpty() {
        return commands.isEmpty();
    }

    /** The replies, once all have arrived. */
    Replies replies() {
        return new Replies(outputs.stream().map(ReplyOutput::reply).toList(), multi, exec);
    }
}
