package io.github.distributedsemaphore.redis.net;

/**
 * User and password at a server.
 *
 * @param user empty for the default user
 * @param password empty if there is none
 */
public record Credentials(String user, String password) {
    static final Credentials NONE = new Credentials("", "");

    /** Adds the command that says so, if there is anything to say. */
    void addTo(CommandBatch batch) {
        if (!user.isEmpty()) {
            batch.add(RedisVerb.AUTH, user, password);
        } else if (!password.isEmpty()) {
            batch.add(RedisVerb.AUTH, password);
        }
    }

    @Override
    public String toString() {
        return user.isEmpty() ? "the default user" : "user '" + user + "'";
    }
}
