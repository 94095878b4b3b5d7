package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.CasStore;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A connection to a key-value store that speaks HTTP. */
final class KvStore implements CasStore {
    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(3);
    private static final long PAUSE_MILLIS = 200;

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String address;
    private final Map<Consumer<String>, String> watched = new ConcurrentHashMap<>();
    private final AtomicBoolean listening = new AtomicBoolean();
    private volatile boolean closed;

    KvStore(String address) {
        this.address = address;
    }

    @Override
    public Entry read(String name, Deadline end) {
        return entry(send(request("/kv?key=" + encoded(name)).build(), end));
    }

    @Override
    public Written write(Change change, Deadline end) {
        HttpRequest request = request("/kv?key=" + encoded(change.name()) + "&expected=" + change.expected() + "&note="
                        + encoded(change.hint()))
                .POST(HttpRequest.BodyPublishers.ofString(change.value()))
                .build();
        HttpResponse<String> answer = send(request, end);
        return new Written(answer.statusCode() == 200, entry(answer));
    }

    @Override
    public Map<String, Entry> list(Deadline end) {
        HttpResponse<String> answer = send(request("/keys").build(), end);
        Map<String, Entry> found = new HashMap<>();
        answer.body().lines().map(line -> line.split(" ", -1)).forEach(words -> {
            Entry entry = new Entry(decoded(words[2]), Long.parseLong(words[1]), number(answer, "Clock"));
            found.put(decoded(words[0]), entry);
        });
        return found;
    }

    private static Entry entry(HttpResponse<String> answer) {
        return new Entry(answer.body(), number(answer, "Revision"), number(answer, "Clock"));
    }

    /** Ends at the deadline, and is deaf to interrupts meanwhile. The client library repeats no POST by itself. */
    private HttpResponse<String> send(HttpRequest request, Deadline end) {
        CompletableFuture<HttpResponse<String>> answer =
                http.sendAsync(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.US_ASCII));
        try {
            HttpResponse<String> answered = InterruptShield.await(answer, end);
            if (answered.statusCode() == 200 || answered.statusCode() == 412) {
                return answered;
            }
            throw new BackendUnavailableException(address + " answers with status " + answered.statusCode(), null);
        } catch (ExecutionException | TimeoutException e) {
            answer.cancel(true);
            boolean certain =
                    e.getCause() instanceof ConnectException || request.method().equals("GET");
            String what =
                    address + " does not answer: " + (certain ? "nothing was changed" : "it may have been changed");
            throw certain ? new BackendUnavailableException(what, e) : new OutcomeUnknownException(what, e);
        }
    }

    @Override
    public BackendSession.Watch watch(String name, Consumer<String> hint) {
        watched.put(hint, name);
        listen();
        return () -> watched.remove(hint);
    }

    private void listen() {
        if (listening.compareAndSet(false, true)) {
            listen(0);
        }
    }

    /** Asks for the changes after a revision, again and again while somebody waits. */
    private void listen(long after) {
        HttpRequest request =
                request("/changes?after=" + after).timeout(LONGEST_SILENCE).build();
        CompletableFuture<Void> unused = http.sendAsync(
                        request, HttpResponse.BodyHandlers.ofString(StandardCharsets.US_ASCII))
                .thenAccept(answer -> heard(answer, after))
                .whenComplete((nothing, failure) -> {
                    if (failure != null && !closed) {
                        CompletableFuture.delayedExecutor(PAUSE_MILLIS, TimeUnit.MILLISECONDS)
                                .execute(() -> listen(0));
                    }
                });
    }

    private void heard(HttpResponse<String> answer, long after) {
        if (after == 0) {
            // Nobody knows what changed before: all look.
            watched.keySet().forEach(hint -> hint.accept(EVERYBODY));
        } else {
            answer.body()
                    .lines()
                    .map(line -> line.split(" ", -1))
                    .forEach(words -> watched.forEach((hint, name) -> {
                        if (name.equals(decoded(words[0]))) {
                            hint.accept(decoded(words[1]));
                        }
                    }));
        }
        if (!watched.isEmpty() && !closed) {
            listen(number(answer, "Revision"));
            return;
        }
        listening.set(false);
        if (!watched.isEmpty() && !closed) {
            listen();
        }
    }

    private HttpRequest.Builder request(String what) {
        return HttpRequest.newBuilder(URI.create(address + what));
    }

    private static long number(HttpResponse<?> answer, String header) {
        return answer.headers().firstValueAsLong(header).orElseThrow();
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    /** Its connections and threads end by themselves: those of this library have no end of their own before Java 21. */
    @Override
    public void close() {
        closed = true;
    }
}
