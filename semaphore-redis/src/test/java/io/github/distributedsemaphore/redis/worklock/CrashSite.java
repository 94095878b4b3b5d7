package io.github.distributedsemaphore.redis.worklock;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lets each victim go as far as its crash, stops it there at the gate, sees to it that somebody stands behind it, kills all
 * victims at one blow, and lets the heirs go on. Only the thread of the test decides; all others tell it.
 */
final class CrashSite implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Map<String, Crash> crashes = new HashMap<>();
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final CommandGate gate;
    private final BlockingQueue<Told> told = new LinkedBlockingQueue<>();
    private final CountDownLatch dead = new CountDownLatch(1);
    private final Map<CommandGate.Line, String> keys = new ConcurrentHashMap<>();
    private final Set<String> stopped = ConcurrentHashMap.newKeySet();
    private final Map<String, Integer> steps = new ConcurrentHashMap<>();
    private final Map<String, List<String>> traces = new HashMap<>();
    private final Map<String, String> heirs = new HashMap<>();
    private final Set<String> working = new HashSet<>();
    private final Set<String> frozen = new HashSet<>();
    private final List<String> odd = new ArrayList<>();

    private enum Teller {
        VICTIM,
        GATE,
        HEIR
    }

    private record Told(Teller teller, String key, String line) {}

    CrashSite(String address, List<Crash> crashes) {
        crashes.forEach(crash -> this.crashes.put(crash.key(), crash));
        this.client = RedisClient.create(address);
        this.connection = client.connect();
        this.gate = new CommandGate(address, this::passes);
    }

    int gatePort() {
        return gate.port();
    }

    void victimTold(String key, String line) {
        told.add(new Told(Teller.VICTIM, key, line));
    }

    void heirTold(String key, String line) {
        told.add(new Told(Teller.HEIR, key, line));
    }

    /** What did not go as foreseen. */
    List<String> odd() {
        return odd;
    }

    /** What the heir of a crash told, without its waits. */
    List<String> trace(Crash crash) {
        return traces.getOrDefault(crash.key(), List.of());
    }

    List<Crash> finished() {
        return crashes.values().stream()
                .filter(crash -> "DONE".equals(value(crash.key())))
                .toList();
    }

    private @Nullable String value(String key) {
        return connection.sync().get(key);
    }

    private boolean passes(CommandGate.Line line, String command, boolean answered) {
        String[] words = command.split(" ", -1);
        String key = words.length > 1 ? words[1] : keys.get(line);
        keys.put(line, key);
        if (stopped.contains(key)) {
            // It thinks that the server does not answer, and tries again; it is as good as dead.
            return untilDead();
        }
        int step = answered ? steps.get(key) : steps.merge(key, 0, (last, none) -> last + 1);
        Crash crash = crashes.get(key);
        String foreseen = crash.scenario().steps().get(step).command().replace("K", key);
        if (!command.equals(foreseen)) {
            told.add(new Told(Teller.GATE, key, "sent " + command + " and not " + foreseen));
        }
        if (step != crash.step() || answered != crash.answered()) {
            return true;
        }
        stopped.add(key);
        told.add(new Told(Teller.GATE, key, "frozen"));
        return untilDead();
    }

    private boolean untilDead() {
        try {
            dead.await(2 * PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    void run(Crew victims, Crew successors) {
        try (victims;
                successors) {
            crashes.forEach((key, crash) -> {
                if (crash.scenario().initial() != null) {
                    connection.sync().set(key, crash.scenario().initial());
                }
            });
            crashes.forEach((key, crash) -> victims.hire(key, crash.scenario().maxAttempts()));
            while (frozen.size() < crashes.size() || heirs.size() < crashes.size() || heirs.containsValue("locked")) {
                handle(next(), victims, successors);
            }
            victims.kill();
            dead.countDown();
            goOn(successors);
        }
    }

    /** Lets somebody come later to each job. */
    void runBehind(List<Crash> jobs, Crew crew) {
        jobs.forEach(crash -> {
            heirs.put(crash.key(), "hired");
            crew.hire(crash.key(), crash.scenario().maxAttempts());
        });
        goOn(crew);
    }

    private Told next() {
        try {
            Told next = told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            if (next == null) {
                throw new AssertionError(
                        "nothing for " + PATIENCE + ", stopped: " + frozen + ", heirs: " + heirs + ", odd: " + odd);
            }
            return next;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void handle(Told now, Crew victims, Crew successors) {
        String key = now.key();
        switch (now.teller()) {
            case VICTIM -> {
                if (now.line().equals("waiting")) {
                    victims.say(key, "tick");
                } else if (now.line().startsWith("acquired")) {
                    working.add(key);
                    hire(key, successors);
                }
            }
            case GATE -> {
                if (!now.line().equals("frozen")) {
                    odd.add(now.toString());
                    return;
                }
                frozen.add(key);
                Crash crash = crashes.get(key);
                if (!Objects.equals(value(key), crash.value())) {
                    odd.add(crash + " leaves " + value(key) + " and not " + crash.value());
                }
                hire(key, successors);
            }
            case HEIR -> {
                hear(now);
                if (now.line().equals("waiting") && working.remove(key)) {
                    victims.say(key, "done");
                }
            }
        }
    }

    private void hire(String key, Crew successors) {
        if (heirs.putIfAbsent(key, "locked") == null) {
            successors.hire(key, crashes.get(key).scenario().maxAttempts());
        }
    }

    private void hear(Told now) {
        heirs.put(now.key(), now.line());
        if (!now.line().equals("waiting")) {
            traces.computeIfAbsent(now.key(), key -> new ArrayList<>()).add(now.line());
        }
    }

    private void goOn(Crew crew) {
        heirs.forEach((key, line) -> answer(key, line, crew));
        while (!heirs.values().stream().allMatch(CrashSite::isOver)) {
            Told now = next();
            if (now.teller() == Teller.HEIR) {
                hear(now);
                answer(now.key(), now.line(), crew);
            }
        }
    }

    private static boolean isOver(String line) {
        return line.startsWith("end") || line.startsWith("failed");
    }

    private static void answer(String key, String line, Crew crew) {
        if (line.equals("waiting")) {
            crew.say(key, "tick");
        } else if (line.startsWith("acquired")) {
            crew.say(key, "done");
        }
    }

    @Override
    public void close() {
        dead.countDown();
        gate.close();
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
