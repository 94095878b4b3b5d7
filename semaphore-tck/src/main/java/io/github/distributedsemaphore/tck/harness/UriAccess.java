package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A server that is reached by a URI of the form {@code scheme://[user[:password]@]host:port[/path][?settings]}, in which host and
 * port can be replaced. Immutable.
 */
public final class UriAccess implements ServerAccess {
    private static final Pattern URI = Pattern.compile("([^/]+://(?:[^/?@]*@)?)([^/?:]+):(\\d+)([/?].*)?");

    private final String before;
    private final InetSocketAddress address;
    private final String after;

    /**
     * Takes a URI.
     *
     * @param uri with exactly one host, and its port
     * @throws IllegalArgumentException if it is of another form
     */
    public UriAccess(String uri) {
        Matcher matcher = URI.matcher(uri);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "not a URI of one host and a port: the harness has to lead clients itself");
        }
        before = matcher.group(1);
        address = new InetSocketAddress(matcher.group(2), Integer.parseInt(matcher.group(3)));
        after = matcher.group(4) == null ? "" : matcher.group(4);
    }

    @Override
    public InetSocketAddress address() {
        return address;
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return connect(before + through.getAddress().getHostAddress() + ":" + through.getPort() + after, spec);
    }

    static SemaphoreClient connect(String uri, ClientSpec spec) {
        return spec.applyTo(SemaphoreClient.builder(spec.without(uri))).connect();
    }
}
