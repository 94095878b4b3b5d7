package io.github.distributedsemaphore.cli.live;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The page of {@code ui} and its data, by the JDK's own HTTP server on the loopback address. There is nothing in it that could
 * change a semaphore: it has the snapshots alone.
 *
 * <p>A page of another site can make a browser on this machine ask a loopback address, also under a name of its own (DNS
 * rebinding). So a request is answered only if it names this server as its host, and no answer allows another site to read it.
 *
 * <p>Thread-safe.
 */
final class UiServer implements AutoCloseable {
    private static final Pattern SEEN = Pattern.compile("(?:seen=([0-9]{1,18}))?");
    private static final int HTTP_PORT = 80;

    /** The page itself brings all that it uses; no script, style or picture from elsewhere is run or shown in it. */
    private static final Map<String, String> HEADERS = Map.of(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
                    + " form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options",
            "nosniff",
            "Cross-Origin-Resource-Policy",
            "same-origin",
            "Referrer-Policy",
            "no-referrer",
            "Cache-Control",
            "no-store");

    private final Readings readings;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(UiServer::thread);
    private final Set<String> hosts;
    private final Map<String, Content> contents = new HashMap<>();

    private UiServer(Readings readings, HttpServer server) {
        this.readings = readings;
        this.server = server;
        int port = server.getAddress().getPort();
        this.hosts = port == HTTP_PORT
                ? Set.of("127.0.0.1", "localhost", "[::1]")
                : Set.of("127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port);
        contents.put("/", resource("ui.html", "text/html"));
        contents.put("/ui.css", resource("ui.css", "text/css"));
        contents.put("/ui.js", resource("ui.js", "text/javascript"));
        server.createContext("/", this::answer);
        server.setExecutor(threads);
    }

    private record Content(String type, String text) {
        static Content text(String text) {
            return new Content("text/plain", text);
        }
    }

    /**
     * Starts to serve.
     *
     * @param port the port; 0 for a free one
     * @throws IllegalArgumentException if the port cannot be had
     */
    static UiServer start(Readings readings, int port) {
        try {
            InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
            UiServer server = new UiServer(readings, HttpServer.create(address, 0));
            server.server.start();
            return server;
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "port " + port + " cannot be used (" + e.getMessage()
                            + "); choose another one with --port, or leave" + " the option out for a free one",
                    e);
        }
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "semaphore-ui");
        thread.setDaemon(true);
        return thread;
    }

    private static Content resource(String name, String type) {
        try (InputStream in = Objects.requireNonNull(UiServer.class.getResourceAsStream(name), name)) {
            return new Content(type, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    URI address() {
        InetSocketAddress address = server.getAddress();
        String host = address.getAddress().getHostAddress();
        return URI.create("http://" + (host.contains(":") ? "[::1]" : host) + ":" + address.getPort() + "/");
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            List<String> host = exchange.getRequestHeaders().getOrDefault("Host", List.of());
            if (host.size() != 1 || !hosts.contains(host.get(0))) {
                send(exchange, 403, Content.text("This server answers only as " + address() + "\n"));
            } else if (!exchange.getRequestMethod().equals("GET")) {
                exchange.getResponseHeaders().set("Allow", "GET");
                send(exchange, 405, Content.text("This server can be read only.\n"));
            } else {
                get(exchange);
            }
        }
    }

    private void get(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        Content known = contents.get(path);
        if (known != null) {
            send(exchange, 200, known);
        } else if (path.equals("/data")) {
            data(exchange);
        } else {
            send(exchange, 404, Content.text("There is nothing at this address. The page is at " + address() + "\n"));
        }
    }

    private void data(HttpExchange exchange) throws IOException {
        String query = exchange.getRequestURI().getQuery();
        Matcher seen = SEEN.matcher(query == null ? "" : query);
        if (!seen.matches()) {
            send(
                    exchange,
                    400,
                    Content.text("The query must be seen=N, the number of the last reading that is known.\n"));
            return;
        }
        long known = seen.group(1) == null ? 0 : Long.parseLong(seen.group(1));
        String json = LiveJson.page(readings.latest(), known).toString();
        send(exchange, 200, new Content("application/json", json));
    }

    private static void send(HttpExchange exchange, int code, Content content) throws IOException {
        Headers headers = exchange.getResponseHeaders();
        HEADERS.forEach(headers::set);
        headers.set("Content-Type", content.type() + "; charset=utf-8");
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(code, -1);
            return;
        }
        byte[] bytes = content.text().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(code, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
