package io.github.distributedsemaphore.spi.support;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * A backend's address with its settings: {@code scheme:path?name=value}, or {@code
 * scheme://user:password@host:port,host:port/path?name=value}.
 *
 * <p>Settings are read by name and with their bounds; what nobody has read is refused in the end, so that no misspelt
 * setting is ignored. Not thread-safe. {@link #toString} leaves out user, password and settings.
 */
public final class BackendUri {
    private static final Pattern HOSTS = Pattern.compile("((\\[[^]]*]|[^:,\\[\\]]*)(:[0-9]*)?(,|$))*");

    private final String scheme;
    private String user;
    private String password;
    private boolean credentialsUnread;
    private @Nullable TrustManagerFactory trustManagers;
    private @Nullable KeyManagerFactory keyManagers;
    private boolean managersUnread;
    private final String hosts;
    private final String path;
    private final Map<String, String> parameters = new LinkedHashMap<>();
    private final Set<String> read = new TreeSet<>();

    private BackendUri(String scheme, String userInfo, String hosts, String path) {
        int colon = userInfo.indexOf(':');
        this.scheme = scheme;
        this.user = decode(colon < 0 ? userInfo : userInfo.substring(0, colon));
        this.password = colon < 0 ? "" : decode(userInfo.substring(colon + 1));
        this.hosts = hosts;
        this.path = path;
    }

    /**
     * Takes a URI apart.
     *
     * @param text the URI
     * @return its parts
     * @throws IllegalArgumentException if it has no scheme, gives a setting twice, has a percent sign that begins no escape,
     *     or an unescaped slash or question mark before its {@code @}; the message holds no credentials
     */
    public static BackendUri parse(String text) {
        int colon = text.indexOf(':');
        if (colon < 1 || !text.substring(0, colon).matches("[A-Za-z][A-Za-z0-9+.-]*")) {
            throw new IllegalArgumentException("A backend is given as a URI such as local:/path or redis://host:6379");
        }
        String rest = text.substring(colon + 1);
        int question = rest.indexOf('?');
        String address = question < 0 ? rest : rest.substring(0, question);
        String authority = "";
        if (address.startsWith("//")) {
            int slash = address.indexOf('/', 2);
            authority = slash < 0 ? address.substring(2) : address.substring(2, slash);
            address = slash < 0 ? "" : address.substring(slash);
            if (address.indexOf('@') >= 0) {
                // Else the start of such a password would be taken for the hosts, and shown.
                throw new IllegalArgumentException(
                        "In the URI of a backend a slash in user or password is written %2F, and an @ in the path %40");
            }
        }
        String query = question < 0 ? "" : rest.substring(question + 1);
        if (isWithinPassword(authority, query)) {
            throw new IllegalArgumentException(
                    "In the URI of a backend a question mark in user or password is written %3F, and an @ in a setting %40");
        }
        int at = authority.lastIndexOf('@');
        BackendUri uri = new BackendUri(
                text.substring(0, colon).toLowerCase(Locale.ROOT),
                at < 0 ? "" : authority.substring(0, at),
                authority.substring(at + 1),
                decode(address));
        uri.addParameters(query);
        return uri;
    }

    /**
     * Takes the place of a URI for a backend that was made without one: it carries settings, which {@link #set} adds.
     *
     * @param backend the name of the backend for messages, of any characters
     * @return one without hosts and path
     */
    public static BackendUri of(String backend) {
        return new BackendUri(backend, "", "", "");
    }

    /** Whether the question mark seems to be a part of a password. A setting that ends with an address of somebody is none. */
    private static boolean isWithinPassword(String authority, String query) {
        if (authority.indexOf('@') >= 0 || query.indexOf('@') < 0) {
            return false;
        }
        return !HOSTS.matcher(authority).matches()
                || Arrays.stream(query.split("&", -1)).anyMatch(pair -> pair.split("=", 2)[0].indexOf('@') >= 0);
    }

    private void addParameters(String query) {
        for (String pair : query.split("&", -1)) {
            if (pair.isEmpty()) {
                continue;
            }
            int equals = pair.indexOf('=');
            String name = decode(equals < 0 ? pair : pair.substring(0, equals));
            set(name, equals < 0 ? "" : decode(pair.substring(equals + 1)));
        }
    }

    private static String decode(String part) {
        // URLDecoder is for forms, where a plus is a space; in a URI it is a plus.
        try {
            return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (
                @SuppressWarnings("UnusedException")
                IllegalArgumentException e) {
            // Neither its message nor itself is passed on: they repeat what may be a password.
            throw new IllegalArgumentException("In the URI of a backend a percent sign is written %25");
        }
    }

    /**
     * Adds a setting, as if it stood in the URI.
     *
     * @param name its name
     * @param value its value
     * @throws IllegalArgumentException if it is there already
     */
    public void set(String name, String value) {
        if (parameters.putIfAbsent(name, value) != null) {
            throw new IllegalArgumentException("Setting '" + name + "' is given twice");
        }
    }

    /**
     * Sets user and password, as if they stood in the URI.
     *
     * @param newUser the user, not encoded
     * @param newPassword the password, not encoded
     * @throws IllegalArgumentException if there is a user or a password already
     */
    public void credentials(String newUser, String newPassword) {
        if (!user.isEmpty() || !password.isEmpty()) {
            throw new IllegalArgumentException("User and password are given twice: in the URI and to the builder, say");
        }
        user = newUser;
        password = newPassword;
        credentialsUnread = true;
    }

    /**
     * Sets what encrypted connections trust and show.
     *
     * @param trust what to trust; null leaves it as it is
     * @param identity what to show; null leaves it as it is
     */
    public void managers(@Nullable TrustManagerFactory trust, @Nullable KeyManagerFactory identity) {
        trustManagers = trust == null ? trustManagers : trust;
        keyManagers = identity == null ? keyManagers : identity;
        managersUnread = true;
    }

    @Nullable
    TrustManagerFactory trustManagers() {
        managersUnread = false;
        return trustManagers;
    }

    @Nullable
    KeyManagerFactory keyManagers() {
        managersUnread = false;
        return keyManagers;
    }

    /**
     * Returns the scheme.
     *
     * @return in lower case
     */
    public String scheme() {
        return scheme;
    }

    /**
     * Returns the user.
     *
     * @return decoded; empty if there is none
     */
    public String user() {
        credentialsUnread = false;
        return user;
    }

    /**
     * Returns the password: not for logs.
     *
     * @return decoded; empty if there is none
     */
    public String password() {
        credentialsUnread = false;
        return password;
    }

    /**
     * Returns the hosts with their ports as they stand in the URI.
     *
     * @return such as {@code a:1,b:2}; empty if there are none
     */
    public String hosts() {
        return hosts;
    }

    /**
     * Returns the path.
     *
     * @return decoded, with its leading slash; empty if there is none
     */
    public String path() {
        return path;
    }

    /**
     * Reads a setting as it is.
     *
     * @param name its name
     * @param otherwise what it is if not given
     * @return its value
     */
    public String text(String name, String otherwise) {
        read.add(name);
        return parameters.getOrDefault(name, otherwise);
    }

    /**
     * Reads a duration such as {@code 500ms}, {@code 30s} or {@code 5m}.
     *
     * @param name its name
     * @param otherwise what it is if not given
     * @param min the shortest allowed
     * @param max the longest allowed
     * @return its value
     * @throws IllegalArgumentException if it is no duration or out of bounds, naming both
     */
    public Duration duration(String name, Duration otherwise, Duration min, Duration max) {
        read.add(name);
        String value = parameters.get(name);
        if (value == null) {
            return otherwise;
        }
        Duration duration;
        try {
            duration = Durations.parse(value);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("Setting '" + name + "': " + e.getMessage(), e);
        }
        if (duration.compareTo(min) < 0 || duration.compareTo(max) > 0) {
            throw outOfBounds(name, value, Durations.format(min), Durations.format(max));
        }
        return duration;
    }

    /**
     * Reads a whole number.
     *
     * @param name its name
     * @param otherwise what it is if not given
     * @param min the least allowed
     * @param max the greatest allowed
     * @return its value
     * @throws IllegalArgumentException if it is no number or out of bounds, naming both
     */
    public int integer(String name, int otherwise, int min, int max) {
        read.add(name);
        String value = parameters.get(name);
        if (value == null) {
            return otherwise;
        }
        if (!value.matches("-?\\d{1,9}") || Integer.parseInt(value) < min || Integer.parseInt(value) > max) {
            throw outOfBounds(name, value, Integer.toString(min), Integer.toString(max));
        }
        return Integer.parseInt(value);
    }

    /**
     * Reads a setting that is true or false.
     *
     * @param name its name
     * @param otherwise what it is if not given
     * @return its value
     * @throws IllegalArgumentException if it is neither, naming it
     */
    public boolean flag(String name, boolean otherwise) {
        return choice(name, Boolean.toString(otherwise), Boolean.toString(!otherwise))
                .equals("true");
    }

    /**
     * Reads a setting that is one of a few words.
     *
     * @param name its name
     * @param otherwise what it is if not given
     * @param others what else it may be
     * @return its value
     * @throws IllegalArgumentException if it is none of them, naming them
     */
    public String choice(String name, String otherwise, String... others) {
        String value = text(name, otherwise);
        if (!value.equals(otherwise) && !List.of(others).contains(value)) {
            String allowed =
                    Stream.concat(Stream.of(otherwise), Stream.of(others)).collect(Collectors.joining(" or "));
            throw new IllegalArgumentException("Setting '" + name + "' is '" + value + "', it must be " + allowed);
        }
        return value;
    }

    private static IllegalArgumentException outOfBounds(String name, String value, String min, String max) {
        return new IllegalArgumentException(
                "Setting '" + name + "' is '" + value + "', it must be from " + min + " to " + max);
    }

    /**
     * Refuses settings that nobody has read.
     *
     * @throws IllegalArgumentException if there are any, naming them and those that are known
     */
    public void refuseUnread() {
        if (credentialsUnread) {
            throw new IllegalArgumentException("User and password have no use for " + scheme + ":");
        }
        if (managersUnread) {
            throw new IllegalArgumentException("Managers for TLS have no use for " + scheme + ":");
        }
        Set<String> unread = new TreeSet<>(parameters.keySet());
        unread.removeAll(read);
        if (!unread.isEmpty()) {
            throw new IllegalArgumentException("Unknown settings " + unread + " for " + scheme + ": known are " + read);
        }
    }

    @Override
    public String toString() {
        return scheme + ":" + (hosts.isEmpty() ? "" : "//" + hosts) + path;
    }
}
