package io.github.distributedsemaphore.redis;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Collects a reply of any shape. An error within a list is an element like any other: a command that fails inside a
 * transaction does not undo the others, so each has to be looked at.
 */
final class ReplyOutput extends CommandOutput<String, String, Reply> {
    /** The lists that are not complete yet, the innermost first; a nil list is open and takes nothing. */
    private final Deque<Frame> open = new ArrayDeque<>();

    private record Frame(@Nullable List<Reply> elements) {}

    ReplyOutput() {
        super(StringCodec.UTF8, Reply.NIL);
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        add(bytes == null ? Reply.NIL : new Reply(StringCodec.UTF8.decodeValue(bytes)));
    }

    @Override
    public void setSingle(@Nullable ByteBuffer bytes) {
        set(bytes);
    }

    @Override
    public void set(long integer) {
        add(new Reply(integer));
    }

    @Override
    public void setError(ByteBuffer error) {
        if (open.isEmpty()) {
            super.setError(error);
        } else {
            add(new Reply(new Reply.Failure(decodeString(error))));
        }
    }

    @Override
    public void multi(int count) {
        List<Reply> elements = count < 0 ? null : new ArrayList<>(count);
        add(elements == null ? Reply.NIL : new Reply(elements));
        open.push(new Frame(elements));
    }

    @Override
    public void complete(int depth) {
        if (open.size() > depth) {
            open.pop();
        }
    }

    private void add(Reply reply) {
        Frame frame = open.peek();
        if (frame == null) {
            output = reply;
        } else if (frame.elements() != null) {
            frame.elements().add(reply);
        }
    }

    /** What arrived, also if it is an error. */
    Reply reply() {
        return hasError() ? new Reply(new Reply.Failure(getError())) : get();
    }
}
