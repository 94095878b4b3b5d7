package io.github.distributedsemaphore.tck.run;

import java.util.Map;
import java.util.TreeMap;

/** Says what every thread is doing, for the message of a test that hangs. */
public final class ThreadDump {
    private ThreadDump() {}

    public static String all() {
        Map<String, String> threads = new TreeMap<>();
        Thread.getAllStackTraces().forEach((thread, stack) -> threads.put(thread.getName(), one(thread, stack)));
        return String.join("\n", threads.values());
    }

    /** Says what a thread is doing. */
    public static String of(Thread thread) {
        return one(thread, thread.getStackTrace());
    }

    static String one(Thread thread, StackTraceElement[] stack) {
        StringBuilder text = new StringBuilder();
        text.append('"').append(thread.getName()).append("\" ").append(thread.getState());
        for (StackTraceElement frame : stack) {
            text.append("\n    at ").append(frame);
        }
        return text.toString();
    }
}
