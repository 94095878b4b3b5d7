package io.github.distributedsemaphore.benchmarks.cells;

import java.util.List;

/**
 * One question that is measured.
 *
 * @param name for the command line
 * @param title what is measured, in words
 * @param processes how many JVMs, each with the threads of the variant
 * @param roundMillis how long each variant runs in each round
 * @param ownServers whether each variant has a server of its own, because it burdens it
 * @param variants what is measured in turn; the first is what the others are compared with
 * @param targets what is to be reached
 */
public record Cell(
        String name,
        String title,
        int processes,
        long roundMillis,
        boolean ownServers,
        List<Variant> variants,
        List<Target> targets) {}
