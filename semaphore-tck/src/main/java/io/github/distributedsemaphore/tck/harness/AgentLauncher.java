package io.github.distributedsemaphore.tck.harness;

import java.util.List;

/**
 * How to start another JVM in which a client of the same backend runs.
 *
 * @param uri what the agent connects to
 * @param classPath what it runs on; must hold the kit, the API and the adapter
 * @param jvmOptions options for its JVM
 * @param before words that come before the command of the JVM, such as those that enter a network namespace; what they run
 *     must become the JVM, with the same process id
 */
public record AgentLauncher(String uri, String classPath, List<String> jvmOptions, List<String> before) {
    /**
     * Keeps an unmodifiable copy.
     *
     * @param uri see the record
     * @param classPath see the record
     * @param jvmOptions see the record
     * @param before see the record
     */
    public AgentLauncher {
        jvmOptions = List.copyOf(jvmOptions);
        before = List.copyOf(before);
    }

    /**
     * Describes agents that start without other words before them.
     *
     * @param uri see the record
     * @param classPath see the record
     * @param jvmOptions see the record
     */
    public AgentLauncher(String uri, String classPath, List<String> jvmOptions) {
        this(uri, classPath, jvmOptions, List.of());
    }

    /**
     * Returns the same, started by another command.
     *
     * @param words see {@link #before}
     * @return a copy
     */
    public AgentLauncher after(List<String> words) {
        return new AgentLauncher(uri, classPath, jvmOptions, words);
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
