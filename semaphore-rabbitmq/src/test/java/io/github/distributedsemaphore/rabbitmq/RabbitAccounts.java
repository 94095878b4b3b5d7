package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import java.util.List;
import java.util.UUID;

/** Users of a broker with the rights that docs/backends/rabbitmq.md lists: to work, and to look. */
final class RabbitAccounts {
    private static final String OURS = "^sem:";
    private static final String TO_SEND = "^(sem:.*|amq\\.default)$";
    private static final String TO_ASK = "^sem:(client:.*|events)$";
    private static final String TO_SEND_QUESTIONS = "^(sem:(client:.*|events)|amq\\.default)$";

    private RabbitAccounts() {}

    /**
     * Makes the users.
     *
     * @param uri of clients, with credentials and settings
     */
    static Accounts at(BrokerShell shell, String uri) {
        String password = UUID.randomUUID().toString();
        String wrong = UUID.randomUUID().toString();
        String name = UUID.randomUUID().toString();
        shell.addUser("worker-" + name, password, OURS, TO_SEND, OURS);
        shell.addUser("looker-" + name, password, TO_ASK, TO_SEND_QUESTIONS, OURS);
        return new UriAccounts(
                as("worker-" + name, password, uri),
                as("worker-" + name, wrong, uri),
                as("looker-" + name, password, uri),
                List.of(password, wrong));
    }

    private static String as(String user, String password, String uri) {
        return uri.replaceFirst("//[^@]*@", "//" + user + ":" + password + "@");
    }
}
