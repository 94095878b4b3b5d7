package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.TextTable;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** The semaphores without their holders: cheaper than {@code status} where the backend can count holders. */
@Command(name = "list", description = "Lists the semaphores: how many slots each has, and how many are held and free.")
public final class ListCommand implements Callable<Integer> {
    @ParentCommand
    private SemaphoreCommand semaphore;

    @CommandLine.Spec
    private CommandLine.Model.CommandSpec spec;

    @Option(names = "--json", description = "print an array of {\"name\",\"limit\",\"held\",\"free\"}")
    private boolean json;

    /** For picocli. */
    public ListCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (SemaphoreClient client = semaphore.connect()) {
            showAll(
                    client,
                    client.admin()::status,
                    all -> out.println(json ? LiveJson.list(all) : all.isEmpty() ? SemaphoreCommand.NONE : text(all)));
        }
        return 0;
    }

    /**
     * Shows all semaphores of a backend that can be shown: a damaged one hides no other.
     *
     * @param <T> what is shown of a semaphore
     * @param client of the backend
     * @param question asks for it by name; empty if there is no such semaphore any more
     * @param printer shows it, and is not called if there are only damaged ones
     * @throws IncompatibleStateException about the first damaged one, after the others were shown
     * @throws UnsupportedOperationException if the backend cannot list its semaphores
     */
    public static <T> void showAll(
            SemaphoreClient client, Function<String, Optional<T>> question, Consumer<List<T>> printer) {
        checkListing(client.guarantees());
        List<T> all = new ArrayList<>();
        IncompatibleStateException damage = null;
        for (String name : client.admin().names()) {
            try {
                // One that is destroyed between the two calls is not there any more.
                question.apply(name).ifPresent(all::add);
            } catch (IncompatibleStateException e) {
                damage = damage == null ? e : damage;
            }
        }
        if (damage == null || !all.isEmpty()) {
            printer.accept(all);
        }
        if (damage != null) {
            throw damage;
        }
    }

    /**
     * Refuses a backend that cannot list its semaphores.
     *
     * @param guarantees what the backend promises
     * @throws UnsupportedOperationException if listing is not among it
     */
    public static void checkListing(Guarantees guarantees) {
        if (!guarantees.has(Capability.LISTING)) {
            throw new UnsupportedOperationException("the backend '" + guarantees.backend()
                    + "' cannot list its semaphores; name them, as in 'semaphore status NAME' or 'semaphore top NAME'");
        }
    }

    private static String text(List<SemaphoreStatus> all) {
        TextTable table = new TextTable("NAME", "LIMIT", "HELD", "FREE");
        all.forEach(one -> table.add(
                one.name(),
                String.valueOf(one.limit()),
                String.valueOf(one.limit() - one.free()),
                String.valueOf(one.free())));
        return table.toString();
    }
}
