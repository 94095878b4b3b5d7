package io.github.distributedsemaphore.rabbitmq;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

/** What an operator does at a broker. Thread-safe. */
interface BrokerShell {
    /** Evaluates an Erlang expression that makes a string. */
    String eval(String expression);

    /** Runs rabbitmqctl. Takes a second or two. */
    String ctl(String... arguments);

    /** The names of all queues of this library. */
    default List<String> queues() {
        String names = eval("base64:encode_to_string(iolist_to_binary("
                + "[[N, 10] || {resource, _, queue, N} <- rabbit_amqqueue:list_names()])).");
        String encoded = names.replaceAll("[^A-Za-z0-9+/=]", "");
        String decoded = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
        return decoded.lines()
                .filter(line -> line.startsWith(QueueNames.PREFIX))
                .toList();
    }

    /** Deletes a queue, whoever has it. */
    default void delete(String queue) {
        eval("{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, " + binary(queue) + ")),"
                + " {ok, _} = rabbit_amqqueue:delete(Q, false, false, <<\"test\">>), ok.");
    }

    /** Makes a user with rights to configure, write and read, each a regular expression. */
    default void addUser(String user, String password, String configure, String write, String read) {
        String rights = String.join(", ", binary(configure), binary(write), binary(read));
        eval("ok = rabbit_auth_backend_internal:add_user(" + binary(user) + ", " + binary(password) + ", <<\"test\">>),"
                + " rabbit_auth_backend_internal:set_permissions(" + binary(user) + ", <<\"/\">>, " + rights
                + ", <<\"test\">>), ok.");
    }

    /** Some text as an Erlang expression. */
    private static String binary(String text) {
        String bytes = Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
        return "base64:decode(\"" + bytes + "\")";
    }
}
