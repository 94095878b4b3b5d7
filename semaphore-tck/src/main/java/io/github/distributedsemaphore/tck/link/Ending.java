package io.github.distributedsemaphore.tck.link;

/** How a connection is ended by what stands between its ends. */
public enum Ending {
    /** By a reset: what is under way is lost, both ends hear of it at once. */
    RESET,
    /** In order: each end reads the end of the stream. */
    FINISH,
    /** Not at all: nothing arrives any more, and neither end is notified. */
    SILENCE
}
