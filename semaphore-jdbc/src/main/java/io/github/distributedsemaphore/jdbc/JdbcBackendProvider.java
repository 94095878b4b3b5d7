package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.CasBackend;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Semaphores in PostgreSQL, {@code postgresql://user:password@host:port/database}, with several hosts also {@code host:port,host:port}
 * of which the one is used that accepts writes; or in the database of a JDBC URL, {@code jdbc:postgresql:}, {@code jdbc:h2:} or
 * {@code jdbc:mariadb:}, whose driver has to be on the path, with the settings {@code user} and {@code password}.
 *
 * <p>Settings: {@code detection} (2s to 1h, by default 10s), within which the slot of a dead holder is free; {@code timeout}
 * (100ms to 1m, by default 5s), which a call takes at most; {@code table} (by default {@code semaphores}) and {@code schema} (by
 * default that of the user); {@code connections} (1 to 64, by default 2), which a client uses at most, besides the one to listen on;
 * {@code wakeup}, {@code listen} (by default, for PostgreSQL) or {@code poll}, which suits PgBouncer in transaction mode; {@code poll} (5ms to 200ms, by
 * default 100ms), how often a waiting client then asks.
 *
 * <p>For {@code postgresql:} also {@code sslmode}, by default {@code verify-full} where {@code ca} is given and else {@code prefer},
 * which with {@code ca} is {@code verify-full} or {@code verify-ca}; {@code ca}, a file of certificates in PEM that sign the server's; {@code certificate} and {@code key}, the client's own (the key in
 * PKCS-8, DER). Opening does not connect.
 *
 * <p>Thread-safe.
 */
public final class JdbcBackendProvider implements BackendProvider {
    private static final Pattern HOST = Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:(?<port>\\d{1,5}))?");

    private static final String H2_TIMEOUT = "NETWORK_TIMEOUT";

    /** Creates it, for {@link java.util.ServiceLoader}. */
    public JdbcBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("postgresql", "jdbc");
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        return uri.scheme().equals("jdbc") ? jdbc(uri, self) : postgresql(uri, self);
    }

    private static SemaphoreBackend postgresql(BackendUri uri, HolderInfo self) {
        if (!Stream.of(uri.hosts().split(",", -1)).allMatch(JdbcBackendProvider::isHost)
                || !uri.path().matches("/[^/?&]+")) {
            throw new IllegalArgumentException("'" + uri
                    + "' does not name a host and a database: write postgresql://user:password@host:5432/database");
        }
        Properties properties = new Properties();
        set(properties, "user", uri.user());
        set(properties, "password", uri.password());
        set(properties, "ApplicationName", "semaphore");
        set(properties, "sslmode", sslMode(uri));
        set(properties, "sslrootcert", file(uri, "ca"));
        set(properties, "sslcert", file(uri, "certificate"));
        set(properties, "sslkey", file(uri, "key"));
        if (properties.containsKey("sslcert") != properties.containsKey("sslkey")) {
            throw new IllegalArgumentException(
                    "Settings 'certificate' and 'key' belong together: one of them is missing");
        }
        set(properties, "tcpKeepAlive", "true");
        return backend(uri, self, Dialect.POSTGRESQL, "//" + uri.hosts() + uri.path(), properties);
    }

    /** The driver reads {@code ca} in two modes only. In the others it ignores it, and does not verify the server. */
    private static String sslMode(BackendUri uri) {
        boolean hasCa = !uri.text("ca", "").isEmpty();
        if (!hasCa && uri.text("ca", "none").isEmpty()) {
            throw new IllegalArgumentException("Setting 'ca' is '', it must be a file of certificates in PEM");
        }
        String usual = hasCa ? "verify-full" : "prefer";
        String other = hasCa ? "prefer" : "verify-full";
        String mode = uri.choice("sslmode", usual, "disable", "allow", "require", "verify-ca", other);
        if (hasCa && !mode.startsWith("verify-")) {
            throw new IllegalArgumentException("Setting 'sslmode' is '" + mode
                    + "', it must be verify-ca or verify-full with 'ca': otherwise the server is not verified");
        }
        return mode;
    }

    private static boolean isHost(String text) {
        Matcher host = HOST.matcher(text);
        return host.matches()
                && (host.group("port") == null
                        || (Integer.parseInt(host.group("port")) > 0 && Integer.parseInt(host.group("port")) < 65_536));
    }

    /** The driver would say at each call that it cannot read the file, and that the server does not answer. */
    private static String file(BackendUri uri, String setting) {
        String name = uri.text(setting, "");
        if (!name.isEmpty() && !Files.isReadable(Path.of(name))) {
            throw new IllegalArgumentException(
                    "Setting '" + setting + "' is '" + name + "', it must be a file that can be read");
        }
        return name;
    }

    private static void set(Properties properties, String name, String value) {
        if (!value.isEmpty()) {
            properties.setProperty(name, value);
        }
    }

    private static SemaphoreBackend backend(
            BackendUri uri, HolderInfo self, Dialect dialect, String address, Properties properties) {
        CasBackend.Settings settings = JdbcSemaphores.settings(uri, self, dialect);
        dialect.loadDriver();
        setTimeouts(properties, dialect, address, settings.timeout().toMillis());
        if (dialect == Dialect.POSTGRESQL && authority(address).contains(",")) {
            // By default the driver takes any of them, and a standby knows only what reached it.
            properties.setProperty("targetServerType", "primary");
            // By default it does not ask a host again for ten seconds that was a standby, or refused anybody in this
            // process.
            properties.setProperty("hostRecheckSeconds", "0");
        }
        if (dialect == Dialect.POSTGRESQL && settings.poll().isZero()) {
            // A statement that waits for a lock does not notice that its connection was aborted, and takes a place.
            properties.setProperty(
                    "options", "-c statement_timeout=" + settings.timeout().toMillis());
        } else if (dialect == Dialect.POSTGRESQL) {
            // PgBouncer in transaction mode does not keep a prepared statement with its client, and refuses options.
            properties.setProperty("prepareThreshold", "0");
        }
        String url = "jdbc:" + dialect.id() + ":" + (dialect == Dialect.POSTGRESQL ? encoded(address) : address);
        Callable<Connection> opener = () -> DriverManager.getConnection(url, properties);
        int kept = uri.integer("connections", 2, 1, 64);
        String where = dialect.product() + " at " + address.replaceAll("^//|;.*", "");
        return JdbcSemaphores.backend(uri, settings, dialect, new Connections(opener, settings.timeout(), kept, where));
    }

    /**
     * PostgreSQL's driver counts seconds. MariaDB's counts milliseconds, and aborts a call by a connection that kills it: at a server
     * that stands still only the read itself ends. Of several hosts each has a part of the call, so that the last one has its turn.
     * H2's driver aborts nothing, counts milliseconds, and refuses a setting that the URL gives too.
     */
    private static void setTimeouts(Properties properties, Dialect dialect, String address, long longest) {
        if (dialect == Dialect.H2) {
            boolean isGiven = address.toUpperCase(Locale.ROOT).contains(";" + H2_TIMEOUT + "=");
            set(properties, H2_TIMEOUT, address.startsWith("tcp:") && !isGiven ? Long.toString(longest) : "");
            return;
        }
        boolean inMillis = dialect == Dialect.MARIADB;
        long whole = inMillis ? longest : longest / 1_000 + 1;
        long hosts = 1 + authority(address).chars().filter(each -> each == ',').count();
        long part = longest / (hosts + 1) / (inMillis ? 1 : 1_000);
        set(properties, "connectTimeout", Long.toString(hosts == 1 ? whole : Math.max(1, part)));
        set(properties, "socketTimeout", Long.toString(whole));
    }

    private static String authority(String address) {
        return address.replaceFirst("^[a-z:]*//([^/]*).*", "$1");
    }

    /** PostgreSQL's driver decodes the database once more, and takes a plus for a space. */
    private static String encoded(String address) {
        int name = address.indexOf('/', address.startsWith("//") ? 2 : 0) + 1;
        if (name == 0) {
            return address;
        }
        return address.substring(0, name) + URLEncoder.encode(address.substring(name), StandardCharsets.UTF_8);
    }

    private static SemaphoreBackend jdbc(BackendUri uri, HolderInfo self) {
        String address = uri.hosts().isEmpty() ? uri.path() : "";
        int colon = address.indexOf(':');
        if (colon < 1 || address.contains("@")) {
            throw new IllegalArgumentException(
                    "A JDBC URL is such as jdbc:postgresql://host/database, with user and password as"
                            + " settings: jdbc:postgresql://host/database?user=app&password=secret");
        }
        Dialect dialect = Dialect.of(address.substring(0, colon));
        Properties properties = new Properties();
        set(properties, "user", uri.text("user", ""));
        set(properties, "password", uri.text("password", ""));
        if (properties.isEmpty()) {
            set(properties, "user", uri.user());
            set(properties, "password", uri.password());
        }
        return backend(uri, self, dialect, address.substring(colon + 1), properties);
    }
}
