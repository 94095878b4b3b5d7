package io.github.distributedsemaphore.benchmarks.cells;

import io.lettuce.core.api.sync.RedisCommands;

/**
 * What a server has done.
 *
 * @param commands how many it executed
 * @param cpuMicros of processor time it used
 */
public record ServerUse(long commands, double cpuMicros) {
    public static ServerUse of(RedisCommands<String, String> server) {
        String info = server.info("everything");
        return new ServerUse(
                (long) number(info, "total_commands_processed"),
                1e6 * (number(info, "used_cpu_user") + number(info, "used_cpu_sys")));
    }

    private static double number(String info, String field) {
        return info.lines()
                .filter(line -> line.startsWith(field + ":"))
                .mapToDouble(line -> Double.parseDouble(line.substring(field.length() + 1)))
                .findFirst()
                .orElse(0);
    }

    public ServerUse since(ServerUse before) {
        return new ServerUse(commands - before.commands, cpuMicros - before.cpuMicros);
    }
}
