package io.github.distributedsemaphore.tck.example;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

/**
 * A key-value store as etcd and ZooKeeper are, but small: each change gets the next revision of the whole store, a change is made
 * if its key still has the revision that it expects, and clients can wait for the next change. It speaks HTTP/1.1 and keeps
 * everything in memory. Thread-safe.
 *
 * <pre>
 * GET  /kv?key=K                       the value, in the body
 * POST /kv?key=K&amp;expected=R&amp;note=N     the body becomes the value, an empty one removes the key; 412 if its revision is not R
 * GET  /keys                           a line for each: key, revision, value
 * GET  /changes?after=R                a line for each change with a note since: key, note; waits for one for at most a second,
 *                                      but for R = 0
 * </pre>
 *
 * <p>Each answer has the headers {@code Revision} and {@code Clock}. Keys, values and notes in lines and addresses are URL-encoded.
 */
final class KvServer implements AutoCloseable {
    private static final long LONGEST_WAIT_MILLIS = 1_000;
    private static final int MOST_NOTED = 1_000;

    private record Stored(String value, long revision) {}

    private record Noted(long revision, String key, String note) {}

    private final ExecutorService threads = Executors.newCachedThreadPool(task -> new Thread(task, "kv-server"));
    private final HttpServer http;
    private final Map<String, Stored> entries = new TreeMap<>();
    private final Deque<Noted> noted = new ArrayDeque<>();
    /** Begins at the clock, so that a server that lost everything does not repeat revisions. */
    private long revision = System.currentTimeMillis() * 1_000;

    KvServer() throws IOException {
        // Else an answer whose body follows its head waits for 40 ms, until the client has confirmed the head.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        http.setExecutor(threads);
        http.createContext("/kv", this::value);
        http.createContext("/keys", this::keys);
        http.createContext("/changes", this::changes);
        http.start();
    }

    int port() {
        return http.getAddress().getPort();
    }

    private void value(HttpExchange exchange) throws IOException {
        Map<String, String> words = words(exchange);
        String key = words.get("key");
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.US_ASCII);
        boolean done = true;
        Stored now;
        synchronized (this) {
            if (exchange.getRequestMethod().equals("POST")) {
                done = stored(key).revision() == Long.parseLong(words.get("expected"));
                if (done) {
                    change(key, body, words.get("note"));
                }
            }
            now = stored(key);
        }
        answer(exchange, done ? 200 : 412, now.revision(), now.value());
    }

    private Stored stored(String key) {
        return entries.getOrDefault(key, new Stored("", 0));
    }

    private void change(String key, String value, String note) {
        revision++;
        if (value.isEmpty()) {
            entries.remove(key);
        } else {
            entries.put(key, new Stored(value, revision));
        }
        if (!note.isEmpty()) {
            noted.add(new Noted(revision, key, note));
            if (noted.size() > MOST_NOTED) {
                noted.remove();
            }
            notifyAll();
        }
    }

    private void keys(HttpExchange exchange) throws IOException {
        List<String> lines = new ArrayList<>();
        synchronized (this) {
            entries.forEach(
                    (key, stored) -> lines.add(encoded(key) + " " + stored.revision() + " " + encoded(stored.value())));
        }
        answer(exchange, 200, 0, String.join("\n", lines));
    }

    private void changes(HttpExchange exchange) throws IOException {
        long after = Long.parseLong(words(exchange).get("after"));
        String lines;
        long until;
        synchronized (this) {
            if (after > 0 && (noted.isEmpty() || noted.getLast().revision() <= after)) {
                awaitChange();
            }
            until = revision;
            lines = noted.stream()
                    .filter(one -> one.revision() > after)
                    .map(one -> encoded(one.key()) + " " + encoded(one.note()))
                    .collect(Collectors.joining("\n"));
        }
        answer(exchange, 200, until, lines);
    }

    /** A change, its time or anything else ends the wait: the client asks again. */
    @SuppressWarnings("WaitNotInLoop")
    private synchronized void awaitChange() throws IOException {
        try {
            wait(LONGEST_WAIT_MILLIS);
        } catch (InterruptedException e) {
            throw new IOException("the server ends", e);
        }
    }

    private static void answer(HttpExchange exchange, int status, long revision, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.US_ASCII);
        exchange.getResponseHeaders().set("Revision", Long.toString(revision));
        exchange.getResponseHeaders().set("Clock", Long.toString(System.currentTimeMillis()));
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static Map<String, String> words(HttpExchange exchange) {
        Map<String, String> words = new HashMap<>();
        for (String word : exchange.getRequestURI().getRawQuery().split("&", -1)) {
            String[] nameAndValue = word.split("=", 2);
            words.put(nameAndValue[0], URLDecoder.decode(nameAndValue[1], StandardCharsets.UTF_8));
        }
        return words;
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /** The keys that are there. */
    synchronized List<String> stored() {
        return List.copyOf(entries.keySet());
    }

    @Override
    public void close() {
        http.stop(0);
        threads.shutdownNow();
    }
}
