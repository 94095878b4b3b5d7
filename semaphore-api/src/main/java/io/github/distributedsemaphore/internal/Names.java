package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.guarantees.Guarantees;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Which names a semaphore may have. */
final class Names {
    private Names() {}

    static void check(String name, Guarantees guarantees) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("The name of a semaphore must not be blank");
        }
        int bytes = utf8(name).remaining();
        if (bytes > guarantees.maxNameBytes()) {
            throw new IllegalArgumentException("The name of a semaphore has " + bytes + " bytes in UTF-8, "
                    + guarantees.backend() + " allows at most " + guarantees.maxNameBytes());
        }
    }

    private static ByteBuffer utf8(String name) {
        try {
            return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(name));
        } catch (CharacterCodingException e) {
            // Half a surrogate pair would be written as a question mark: two names would become one.
            throw new IllegalArgumentException("The name of a semaphore contains half of a surrogate pair", e);
        }
    }
}
