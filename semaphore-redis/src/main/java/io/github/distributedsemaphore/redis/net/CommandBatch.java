package io.github.distributedsemaphore.redis.net;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Commands that go to the server in one write, at most one transaction among them. Each is known by the index that {@link
 * #add} returned. For one thread.
 */
public final class CommandBatch {
    private static final int USUAL_LENGTH = 1024;
    private static final int LONGEST_LINE = 13; // a type, at most ten digits, and an end

    private final List<RedisCommand<String, String, Reply>> commands = new ArrayList<>();

    /** What goes over the wire, in the form of the Redis serialization protocol. */
    private byte[] text = new byte[USUAL_LENGTH];

    private int length;

    private final List<ReplyOutput> outputs = new ArrayList<>();

    /** Volatile, because another thread may give the batch up. */
    private volatile @Nullable CompletableFuture<Replies> answer;

    private int watch = -1;
    private int multi = -1;
    private int exec = -1;
    private boolean moves;
    private int wait = -1;
    private Replicas replicas = Replicas.NONE;

    /** Begins with a watch of these keys and of no others: {@link Replies#requireWatch} says whether it stands. */
    public static CommandBatch watching(String... keys) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.add(RedisVerb.WATCH, keys);
        return batch;
    }

    public int add(RedisVerb verb, String... arguments) {
        if (verb == RedisVerb.WATCH) {
            watch = commands.size();
        }
        line('*', arguments.length + 1);
        word(verb.getBytes());
        for (String argument : arguments) {
            word(argument.getBytes(StandardCharsets.UTF_8));
        }
        return expectReply(verb);
    }

    /** As {@link #add(RedisVerb, String...)}, with the text of each of the other arguments. */
    public int add(RedisVerb verb, String key, Collection<?> others) {
        line('*', others.size() + 2);
        word(verb.getBytes());
        word(key.getBytes(StandardCharsets.UTF_8));
        for (Object other : others) {
            word(other.toString().getBytes(StandardCharsets.UTF_8));
        }
        return expectReply(verb);
    }

    /** Encoded before its length is said, so that the two agree whatever it is. */
    private void word(byte[] word) {
        line('$', word.length);
        makeRoom(word.length + 2);
        System.arraycopy(word, 0, text, length, word.length);
        length += word.length;
        end();
    }

    private void line(char type, int number) {
        makeRoom(LONGEST_LINE);
        text[length++] = (byte) type;
        digits(number);
        end();
    }

    private void digits(int number) {
        if (number >= 10) {
            digits(number / 10);
        }
        text[length++] = (byte) ('0' + number % 10);
    }

    private void end() {
        text[length++] = '\r';
        text[length++] = '\n';
    }

    private void makeRoom(int bytes) {
        if (text.length - length < bytes) {
            text = Arrays.copyOf(text, Math.max(2 * text.length, length + bytes));
        }
    }

    private int expectReply(ProtocolKeyword verb) {
        ReplyOutput output = new ReplyOutput();
        outputs.add(output);
        commands.add(new Part(verb, output));
        return commands.size() - 1;
    }

    /**
     * Takes a reply: Lettuce expects one for each command. The first writes all commands, because Lettuce would encode each argument into a
     * buffer of its own, a tenth of a client's processor time.
     */
    private final class Part extends Command<String, String, Reply> {
        private final boolean first = commands.isEmpty();

        private Part(ProtocolKeyword verb, ReplyOutput output) {
            super(verb, output);
        }

        @Override
        public void encode(ByteBuf wire) {
            if (first) {
                wire.writeBytes(text, 0, length);
            }
        }
    }

    /**
     * Sends the commands so that no command of another batch comes between them. Any thread may call it at any time; each batch is sent
     * once.
     *
     * @param connection one that {@link RedisConnector} opened
     */
    void sendOn(StatefulRedisConnection<String, String> connection) {
        RedisCommand<String, String, Reply> unused = connection.dispatch(new Whole());
    }

    /**
     * Stands for all commands on their way to the connection's thread. Given a list of commands, Lettuce hands over each for itself, and
     * those of two threads mix: a transaction gets a command that is not its own.
     */
    private final class Whole extends Command<String, String, Reply> {
        private Whole() {
            super(RedisVerb.BATCH, new ReplyOutput());
        }

        private List<RedisCommand<String, String, Reply>> parts() {
            return commands;
        }

        /** The connection breaks or is closed before anything is written. */
        @Override
        public boolean completeExceptionally(Throwable failure) {
            fail(failure);
            return super.completeExceptionally(failure);
        }

        @Override
        public void cancel() {
            fail(new CancellationException("the connection was closed"));
            super.cancel();
        }
    }

    /** Puts the commands in the place of what stands for them, on the connection's thread. One of these is in each connection. */
    static final class Unpacking extends ChannelOutboundHandlerAdapter {
        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            ChannelFuture unused = context.write(message instanceof Whole batch ? batch.parts() : message, promise);
        }
    }

    public CommandBatch multi() {
        multi = add(RedisVerb.MULTI);
        return this;
    }

    public void exec() {
        exec = add(RedisVerb.EXEC);
    }

    /** Lets the same commands be sent again, for each can be answered once only. Nothing of the first sending may be under way. */
    void renew() {
        List<ProtocolKeyword> verbs =
                commands.stream().map(RedisCommand::getType).toList();
        commands.clear();
        outputs.clear();
        answer = null;
        verbs.forEach(this::expectReply);
    }

    /** The batch changes something without a transaction. */
    public void moves() {
        moves = true;
    }

    /** Asks how many replicas have what was written before, outside of its transaction: {@link Replies#requireReplicas} looks at the answer. */
    public void confirm(Replicas by) {
        if (by.needed() > 0) {
            replicas = by;
            wait = add(
                    RedisVerb.WAIT,
                    Integer.toString(by.needed()),
                    Long.toString(by.atMost().toMillis()));
        }
    }

    /** Whether something may have changed if no reply comes. */
    boolean mayChange() {
        return moves || exec >= 0;
    }

    /**
     * Ends with the last command; none is added after it. Replies come in the order of the commands, so it is the only one to wait for. An
     * error that the server answered is a reply. When a connection breaks, Lettuce leaves a text of its own as the reply: that is a failure.
     *
     * <p>It is not the command itself: Lettuce does not write a command that is done, and a transaction without its EXEC would swallow the
     * commands behind it.
     */
    CompletableFuture<Replies> answer() {
        CompletableFuture<Replies> known = answer;
        if (known == null) {
            int index = commands.size() - 1;
            AsyncCommand<String, String, Reply> command = new AsyncCommand<>(commands.get(index));
            commands.set(index, command);
            CompletableFuture<Replies> own = new CompletableFuture<>();
            CompletableFuture<?> unused = command.whenComplete((reply, failure) -> {
                if (failure == null || failure instanceof RedisCommandExecutionException) {
                    own.complete(replies());
                } else {
                    own.completeExceptionally(failure);
                }
            });
            known = own;
            answer = known;
        }
        return known;
    }

    /** No reply is waited for any longer. Does nothing if it is there, or if nobody waits for it. */
    public void giveUp() {
        fail(new TimeoutException("no reply in time"));
    }

    private void fail(Throwable failure) {
        CompletableFuture<Replies> waitedFor = answer;
        if (waitedFor != null) {
            waitedFor.completeExceptionally(failure);
        }
    }

    public boolean isEmpty() {
        return commands.isEmpty();
    }

    int size() {
        return commands.size();
    }

    /** The replies, once all have arrived. */
    private Replies replies() {
        List<Reply> all = new ArrayList<>(outputs.size());
        for (ReplyOutput output : outputs) {
            all.add(output.reply());
        }
        return new Replies(all, watch, multi, exec, wait, replicas, System.nanoTime());
    }

    /**
     * Collects a reply of any shape. An error within a list is an element like any other: a command that fails inside a
     * transaction does not undo the others, so each has to be looked at.
     */
    private static final class ReplyOutput extends CommandOutput<String, String, Reply> {
        private static final ByteBuffer QUEUED_BYTES = StringCodec.UTF8.encodeValue("QUEUED");
        private static final Reply QUEUED = new Reply("QUEUED");

        /** Before the error that EXEC itself is refused with: a missing right, or a server that has become a replica. */
        private static final String REFUSED_EXEC = "EXECABORT Transaction discarded because of: ";

        /** The lists that are not complete yet, the innermost first. Null before the first. */
        private @Nullable Deque<List<Reply>> open;

        ReplyOutput() {
            super(StringCodec.UTF8, Reply.NIL);
        }

        @Override
        public void set(@Nullable ByteBuffer bytes) {
            add(bytes == null ? Reply.NIL : parsed(bytes));
        }

        /** Nearly every reply within a transaction is the same. */
        private static Reply parsed(ByteBuffer bytes) {
            return bytes.equals(QUEUED_BYTES) ? QUEUED : new Reply(StringCodec.UTF8.decodeValue(bytes));
        }

        @Override
        public void set(long integer) {
            add(new Reply(integer));
        }

        @Override
        public void setError(ByteBuffer error) {
            if (open == null || open.isEmpty()) {
                super.setError(error);
            } else {
                add(new Reply(new Reply.Failure(decodeString(error))));
            }
        }

        @Override
        public void multi(int count) {
            // A nil list is open like any other, and has nothing.
            List<Reply> elements = new ArrayList<>(Math.max(0, count));
            add(count < 0 ? Reply.NIL : new Reply(elements));
            if (open == null) {
                open = new ArrayDeque<>(2);
            }
            open.push(elements);
        }

        @Override
        public void complete(int depth) {
            if (open != null && open.size() > depth) {
                open.pop();
            }
        }

        private void add(Reply reply) {
            List<Reply> elements = open == null ? null : open.peek();
            if (elements == null) {
                output = reply;
            } else {
                elements.add(reply);
            }
        }

        /** What arrived, also if it is an error. */
        Reply reply() {
            return hasError() ? new Reply(new Reply.Failure(error(getError()))) : get();
        }

        /** Errors are recognised by their first words, so the prefix that EXEC adds is removed. */
        private static String error(String said) {
            return said.startsWith(REFUSED_EXEC) ? said.substring(REFUSED_EXEC.length()) : said;
        }
    }
}
