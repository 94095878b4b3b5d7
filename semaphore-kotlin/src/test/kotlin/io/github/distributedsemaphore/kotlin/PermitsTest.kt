package io.github.distributedsemaphore.kotlin

import io.github.distributedsemaphore.DistributedSemaphore
import io.github.distributedsemaphore.LossCause
import io.github.distributedsemaphore.PermitLoss
import io.github.distributedsemaphore.PermitLostException
import io.github.distributedsemaphore.SemaphoreClient
import io.github.distributedsemaphore.SemaphoreTimeoutException
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.supervisorScope
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatThrownBy
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

internal class PermitsTest {
    private lateinit var client: SemaphoreClient
    private lateinit var exports: DistributedSemaphore

    /** How many callbacks are not called from now on. */
    private val withheld = AtomicInteger()

    @BeforeEach
    fun connect(@TempDir folder: Path) {
        client = SemaphoreClient.builder("local:$folder").callbackExecutor(::callBack).connect()
        client.admin().create("exports", 3)
        exports = client.semaphore("exports")
    }

    private fun callBack(news: Runnable) {
        if (withheld.getAndUpdate { maxOf(0, it - 1) } == 0) {
            news.run()
        }
    }

    @AfterEach
    fun close() {
        client.close()
    }

    @Test
    fun `a block runs under a permit that goes back`() = runBlocking<Unit> {
        assertThat(exports.withPermit(30.seconds) { exports.availablePermits() }).isEqualTo(2)
        assertThat(exports.availablePermits()).isEqualTo(3)
    }

    @Test
    fun `a failure passes and the permit goes back`() {
        assertThatThrownBy { runBlocking { exports.withPermit(30.seconds) { error("broken") } } }.hasMessage("broken")
        assertThat(exports.availablePermits()).isEqualTo(3)
    }

    @Test
    fun `a time-out runs nothing`() {
        exports.acquire(3).use {
            assertThatThrownBy { runBlocking { exports.withPermit(20.milliseconds) { error("ran") } } }
                .isInstanceOf(SemaphoreTimeoutException::class.java)
        }
    }

    @Test
    fun `a loss cancels the block`() {
        val begun = AtomicBoolean()
        val cancelled = AtomicBoolean()
        assertThatThrownBy {
            runBlocking(Dispatchers.Default) {
                supervisorScope {
                    val work = async {
                        exports.withPermit(30.seconds) {
                            begun.set(true)
                            try {
                                awaitCancellation()
                            } finally {
                                cancelled.set(true)
                            }
                        }
                    }
                    await().untilTrue(begun)
                    client.abort()
                    work.await()
                }
            }
        }.isInstanceOf(PermitLostException::class.java)
        assertThat(cancelled).isTrue()
    }

    @Test
    fun `a block that ends before the news of its loss fails too`() {
        assertLossIsTold { it.complete("done") }
    }

    @Test
    fun `a block that waits for something cancelled before the news of its loss tells the loss`() {
        assertLossIsTold { it.cancel() }
    }

    @Test
    fun `a block that fails with another semaphore's loss before the news of its own tells its own`() {
        assertLossIsTold {
            it.completeExceptionally(PermitLostException(PermitLoss("other", 1, LossCause.TAKEN_BY_BACKEND, "because")))
        }
    }

    private fun assertLossIsTold(finish: (CompletableDeferred<String>) -> Unit) {
        val begun = AtomicBoolean()
        val end = CompletableDeferred<String>()
        assertThatThrownBy {
            runBlocking(Dispatchers.Default) {
                supervisorScope {
                    val work = async {
                        exports.withPermit(30.seconds) {
                            begun.set(true)
                            end.await()
                        }
                    }
                    await().untilTrue(begun)
                    withheld.set(1)
                    client.abort()
                    await().until { withheld.get() == 0 }
                    finish(end)
                    work.await()
                }
            }
        }.isInstanceOf(PermitLostException::class.java).hasMessageContaining("'exports'")
    }

    @Test
    fun `a hundred thousand cancelled waits leave nothing held`() {
        runBlocking(Dispatchers.Default) {
            val begun = Channel<Job>(50)
            launch { for (job in begun) job.cancel() }
            repeat(100_000) {
                begun.send(launch { exports.withPermit(30.seconds) { awaitCancellation() } })
            }
            begun.close()
        }
        await().atMost(30, TimeUnit.SECONDS).untilAsserted {
            assertThat(exports.statistics().held()).isZero()
            assertThat(exports.statistics().waiting()).isZero()
            assertThat(exports.availablePermits()).isEqualTo(3)
        }
        assertThat(exports.statistics().withdrawn()).isPositive()
        assertThat(exports.statistics().released()).isPositive()
    }
}
