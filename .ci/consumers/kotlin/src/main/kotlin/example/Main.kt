package example

import io.github.distributedsemaphore.SemaphoreClient
import io.github.distributedsemaphore.kotlin.withPermit
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking

fun main() = runBlocking {
    SemaphoreClient.connect("local:").use { client ->
        client.admin().create("exports", 3)
        client.semaphore("exports").withPermit(30.seconds) { permit ->
            println("one of at most three exports, in slot ${permit.slot()}")
        }
    }
}
