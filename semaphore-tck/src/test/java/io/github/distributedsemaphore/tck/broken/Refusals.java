package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import org.jspecify.annotations.Nullable;

/** Takes a failure for a no. */
final class Refusals {
    private Refusals() {}

    static @Nullable Object orRefusal(Bent.Call call) throws Throwable {
        try {
            return call.proceed();
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            ExchangeRequest request = call.argument(0, ExchangeRequest.class);
            return ExchangeResult.of(
                            request.wants().stream().map(permits -> Answer.FULL).toList())
                    .othersWaiting(false)
                    .build();
        }
    }
}
