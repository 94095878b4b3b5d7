package io.github.distributedsemaphore.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What is stored of one semaphore at one moment, and what has to be true of it at every moment: each slot is in exactly one set,
 * and only clients that live have a set.
 */
final class StoredState {
    /** All at one moment: the control, who lives, and each set of slots. */
    private static final String SNAPSHOT =
            "local all = {redis.call('HGETALL', KEYS[1]), redis.call('ZRANGE', KEYS[2], 0, -1)} "
                    + "all[3] = {KEYS[3], redis.call('SMEMBERS', KEYS[3])} "
                    + "local function plain(text) return (string.gsub(text, '[%[%]*?\\\\]', '\\\\%0')) end "
                    + "for _, key in ipairs(redis.call('KEYS', plain(ARGV[1]) .. '*')) do "
                    + "all[#all + 1] = {key, redis.call('SMEMBERS', key)} end "
                    + "return all";

    private final Map<String, String> control;
    private final Set<String> living;
    private final Map<Integer, List<String>> places = new TreeMap<>();
    private final Set<String> holders = new TreeSet<>();
    private int held;

    private StoredState(Map<String, String> control, Set<String> living) {
        this.control = control;
        this.living = living;
    }

    static StoredState of(RedisCommands<String, String> commands, RedisLayout layout) {
        String sets = layout.heldBy("");
        List<?> all = commands.eval(
                SNAPSHOT, ScriptOutputType.MULTI, new String[] {layout.control(), layout.lives(), layout.free()}, sets);
        StoredState state = new StoredState(pairs((List<?>) all.get(0)), new TreeSet<>(texts(all.get(1))));
        for (Object entry : all.subList(2, all.size())) {
            String key = (String) ((List<?>) entry).get(0);
            for (String slot : texts(((List<?>) entry).get(1))) {
                state.places
                        .computeIfAbsent(Integer.valueOf(slot), unused -> new ArrayList<>())
                        .add(key);
                if (!key.equals(layout.free())) {
                    state.held++;
                    state.holders.add(key.substring(sets.length()));
                }
            }
        }
        return state;
    }

    private static List<String> texts(Object list) {
        return ((List<?>) list).stream().map(String.class::cast).toList();
    }

    private static Map<String, String> pairs(List<?> list) {
        List<String> texts = texts(list);
        Map<String, String> pairs = new HashMap<>();
        for (int i = 0; i + 1 < texts.size(); i += 2) {
            pairs.put(texts.get(i), texts.get(i + 1));
        }
        return pairs;
    }

    /** How many slots are held. */
    int held() {
        return held;
    }

    /** What is wrong with it, a sentence each. */
    List<String> faults() {
        List<String> faults = new ArrayList<>();
        places.forEach((slot, keys) -> {
            if (keys.size() > 1) {
                faults.add("slot " + slot + " is in several sets: " + keys);
            }
        });
        for (String holder : holders) {
            if (!living.contains(holder)) {
                faults.add("client " + holder + " holds slots and is not among the living");
            }
        }
        if (!control.isEmpty()) {
            int limit = Integer.parseInt(control.get(RedisLayout.LIMIT_FIELD));
            int slots = Integer.parseInt(control.get(RedisLayout.SLOTS_FIELD));
            for (int slot = 1; slot <= slots; slot++) {
                if (!places.containsKey(slot)) {
                    faults.add("slot " + slot + " is in no set");
                }
            }
            places.keySet().stream()
                    .filter(slot -> slot < 1 || slot > slots)
                    .forEach(slot -> faults.add("slot " + slot + " is none of the " + slots));
            if (held > slots || limit > slots) {
                faults.add(held + " slots are held, of " + slots + ", with a limit of " + limit);
            }
        }
        return faults;
    }
}
