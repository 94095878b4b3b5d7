package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.HolderInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Sends the transactions of a plan, the one that decides at the end. Thread-safe. */
final class PlanSender {
    private final ConsulHttp http;
    private final HolderInfo self;

    PlanSender(ConsulHttp http, HolderInfo self) {
        this.http = http;
        this.self = self;
    }

    /** Deletes what a destroyed semaphore has left, if it has. */
    void clearDeserted(PrefixView view) {
        DestroyedLocks.clear(view, http);
    }

    /** Sends what belongs to a plan; the indexes in the outcome are those of all its transactions. */
    Transaction.Outcome send(ExchangePlan plan) {
        Map<String, Long> indexes = new HashMap<>();
        List<Transaction> transactions = new ArrayList<>(plan.preparations(self));
        if (!transactions.isEmpty() && plan.view().lockIndex() == 0) {
            // Entries that were written earlier are only as new as an existing coordination key makes them.
            Transaction create = new Transaction();
            LockBody empty = new LockBody(plan.view().limit(), Set.of(), "new", false);
            create.cas(plan.view().key(KeyNames.LOCK), 0, empty.toJson());
            Transaction.Outcome created = create.send(http);
            return created.status() == Transaction.Status.OK
                    ? new Transaction.Outcome(Transaction.Status.CONFLICT, "made the key first", -1, Map.of())
                    : created;
        }
        transactions.add(plan.transaction(self));
        for (Transaction transaction : transactions) {
            Transaction.Outcome outcome = transaction.send(http);
            if (outcome.status() != Transaction.Status.OK) {
                return outcome;
            }
            indexes.putAll(outcome.indexes());
        }
        return new Transaction.Outcome(Transaction.Status.OK, "", -1, indexes);
    }
}
