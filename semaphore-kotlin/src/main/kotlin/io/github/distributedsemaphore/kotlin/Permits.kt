package io.github.distributedsemaphore.kotlin

import io.github.distributedsemaphore.DistributedSemaphore
import io.github.distributedsemaphore.Permit
import io.github.distributedsemaphore.PermitLoss
import io.github.distributedsemaphore.PermitLostException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.cancel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.future.await
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withContext
import org.slf4j.LoggerFactory

private val log = LoggerFactory.getLogger("io.github.distributedsemaphore.kotlin.Permits")

/**
 * Runs a block under a permit and releases the permit afterwards, however the block ends.
 *
 * ```
 * val report = exports.withPermit(30.seconds) { permit -> export(permit.fence()) }
 * ```
 *
 * Suspends and never blocks a thread. The block runs in the context of the caller; its coroutine may change threads, since a permit is
 * bound to none. A cancellation while the caller waits withdraws the request, and a permit that arrives at the same moment goes
 * back. A cancellation of the block releases the permit before it goes on. A release that cannot be confirmed is logged.
 *
 * @param maxWait the longest wait for the permit; zero is one attempt
 * @param block runs while the permit is held; it is cancelled when the permit is lost
 * @return what the block returns
 * @throws io.github.distributedsemaphore.SemaphoreTimeoutException if no permit was free in time; the block did not run
 * @throws io.github.distributedsemaphore.SemaphoreException another leaf as [DistributedSemaphore.acquireAsync] fails; the block did not run
 * @throws PermitLostException if the permit was lost before the block ended, whatever the block did then
 */
public suspend fun <T> DistributedSemaphore.withPermit(maxWait: Duration, block: suspend (Permit) -> T): T {
    val acquiring = acquireAsync(maxWait.toJavaDuration())
    val outcome = runCatching { untilLost(acquiring.await(), block) }
    // A future ends once: either this withdraws the request, or there is a permit to give back, whether the caller saw it or not.
    val withdrawn = acquiring.cancel(false) || acquiring.isCompletedExceptionally
    val loss = if (withdrawn) null else withContext(NonCancellable) { release(acquiring) }
    val failure = outcome.exceptionOrNull()
    // A block may also end as cancelled by itself, after a time-out of its own say.
    val cancelled = failure is CancellationException && !currentCoroutineContext().isActive
    // The permit may be lost before anybody was told. A caller that was cancelled has no use for the news.
    if (loss != null && !tells(failure, loss) && !cancelled) {
        throw PermitLostException(loss).initCause(failure)
    }
    return outcome.getOrThrow()
}

/** A block may also fail with the loss of a permit of another semaphore. */
private fun tells(failure: Throwable?, loss: PermitLoss): Boolean =
    failure is PermitLostException && failure.loss().semaphoreName() == loss.semaphoreName()

private suspend fun <T> untilLost(permit: Permit, block: suspend (Permit) -> T): T {
    val loss = AtomicReference<PermitLoss?>()
    val result = try {
        coroutineScope {
            permit.onLost {
                loss.compareAndSet(null, it)
                cancel(CancellationException("The permit is lost"))
            }
            block(permit)
        }
    } catch (failure: Throwable) {
        throw loss.get()?.let { PermitLostException(it).initCause(failure) } ?: failure
    }
    loss.get()?.let { throw PermitLostException(it) }
    return result
}

/** Returns the loss that the release finds. */
private suspend fun release(acquired: CompletableFuture<Permit>): PermitLoss? {
    val permit = acquired.await()
    return try {
        PermitLoss.foundBy(permit, permit.releaseAsync().await()).orElse(null)
    } catch (failure: Exception) {
        log.warn("The release of a permit of semaphore '{}' is not confirmed; the client goes on trying", permit.semaphoreName(), failure)
        null
    }
}
