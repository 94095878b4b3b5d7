package io.github.distributedsemaphore.tck.agent;

import java.util.List;

/**
 * How to start another JVM in which a client of the same backend runs.
 *
 * @param uri what the agent connects to
 * @param classPath what it runs on; must hold the kit, the API and the adapter
 * @param jvmOptions options for its JVM
 */
public record AgentLauncher(String uri, String classPath, List<String> jvmOptions) {
    /**
     * Keeps an unmodifiable copy.
     *
     * @param uri see the record
     * @param classPath see the record
     * @param jvmOptions see the record
     */
    public AgentLauncher {
        jvmOptions = List.copyOf(jvmOptions);
    }

    /**
     * Starts agents on the class path of this JVM.
     *
     * @param uri what they connect to
     * @return the launcher
     */
    public static AgentLauncher sameClassPath(String uri) {
        String surefire = System.getProperty("surefire.test.class.path");
        return new AgentLauncher(
                uri,
                surefire == null ? System.getProperty("java.class.path") : surefire,
                List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m"));
    }
}
