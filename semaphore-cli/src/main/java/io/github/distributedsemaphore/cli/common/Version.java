package io.github.distributedsemaphore.cli.common;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** Finds the version where Maven puts it into the jar. */
public final class Version implements IVersionProvider {
    private static final String PROPERTIES =
            "/META-INF/maven/io.github.distributedsemaphore/semaphore-cli/pom.properties";

    @Override
    public String[] getVersion() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Version.class.getResourceAsStream(PROPERTIES)) {
            if (in != null) {
                properties.load(in);
            }
        }
        return new String[] {
            "semaphore " + properties.getProperty("version", "(not from a jar)"),
            "Java " + System.getProperty("java.version")
        };
    }
}
