/**
 * The compatibility kit: an adapter author describes a backend in a {@linkplain
 * io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness harness}, extends {@link
 * io.github.distributedsemaphore.tck.SemaphoreTck}, and learns from its failures which promise of the API the adapter breaks.
 */
@NullMarked
package io.github.distributedsemaphore.tck;

import org.jspecify.annotations.NullMarked;
