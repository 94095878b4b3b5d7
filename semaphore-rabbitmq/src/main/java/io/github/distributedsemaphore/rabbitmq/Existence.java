package io.github.distributedsemaphore.rabbitmq;

/** Whether a queue exists. */
enum Existence {
    /** It does: a message was routed to it. A negative confirmation says so too: routed, but not stored. */
    PRESENT,
    /** It does not. */
    ABSENT
}
