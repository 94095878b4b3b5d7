package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.redis.net.ServerSettings;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Workers in Java, threads of this JVM. */
final class LocalCrew implements Crew {
    private final ServerSettings servers;
    private final Told told;
    private final Map<String, SteeredWorker> workers = new ConcurrentHashMap<>();
    private final Map<String, Thread> threads = new ConcurrentHashMap<>();

    LocalCrew(int port, Told told) {
        this.servers = Workers.servers("redis://127.0.0.1:" + port);
        this.told = told;
    }

    @Override
    public void hire(String key, int maxAttempts) {
        SteeredWorker worker = new SteeredWorker(servers, key, maxAttempts, line -> told.line(key, line));
        Thread thread = new Thread(worker, "worker " + key);
        workers.put(key, worker);
        threads.put(key, thread);
        thread.start();
    }

    @Override
    public void say(String key, String word) {
        workers.get(key).say(word);
    }

    /** They are threads of this JVM: the test does not kill these. */
    @Override
    public void kill() {
        threads.values().forEach(Thread::interrupt);
        workers.values().forEach(SteeredWorker::close);
    }
}
