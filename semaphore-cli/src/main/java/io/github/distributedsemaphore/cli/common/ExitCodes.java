package io.github.distributedsemaphore.cli.common;

import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import picocli.CommandLine.Model.UsageMessageSpec;

/**
 * What the command's exit codes mean. Those from 64 on are of the BSD list in {@code sysexits.h} where it has a fitting
 * one; 126, 127 and 128 + signal are the shell's.
 */
public final class ExitCodes {
    public static final int OK = 0;
    public static final int UNEXPECTED = 1;
    public static final int OTHER_LIMIT = 3;
    public static final int STILL_HELD = 4;
    public static final int NO_SUCH_SEMAPHORE = 5;
    public static final int RULE_BROKEN = 6;
    public static final int USAGE = 64;
    public static final int UNAVAILABLE = 69;
    public static final int PERMIT_LOST = 70;
    public static final int OUTCOME_UNKNOWN = 74;
    public static final int NO_SLOT_IN_TIME = 75;
    public static final int ACCESS_REFUSED = 77;
    public static final int INCOMPATIBLE_STATE = 78;
    public static final int NOT_EXECUTABLE = 126;
    public static final int NOT_FOUND = 127;

    private static final String ANY = "*";

    private static final Map<String, String> OF_ALL = Map.of(
            "1", "a fault of this program: see it with --verbose; or its output could not be written",
            "3", "the semaphore exists with another limit",
            "5", "there is no such semaphore",
            "64", "wrong usage: an option, an argument, the backend's URI or a setting in it",
            "69", "the backend cannot be reached",
            "74", "the backend did not confirm: it may or may not have been done; repeat it",
            "77", "the backend refused the credentials or a right",
            "78", "what is stored under the name is no semaphore of this version");

    private static final Map<String, String> OF_RUN = Map.of(
            ANY,
            "what COMMAND ended with; 128 + the signal's number if a signal ended it",
            "70",
            "the permit was lost: COMMAND was not started, was ended, or had ended by itself, as the message says",
            "75",
            "no slot was free in time",
            "126",
            "COMMAND cannot be executed",
            "127",
            "COMMAND was not found");

    private static final Map<String, String> OF_TCK =
            Map.of("0", "every rule that was tested is kept", "6", "a rule is broken, or could not be judged");

    private static final Map<String, String> OF_REMOVALS = Map.of("0", "done", "4", "removed slots are still held");
    private static final Map<String, String> OF_OTHERS = Map.of("0", "done");

    private ExitCodes() {}

    /** What the process ends with when a signal ended what it did, as a shell has it. */
    public static int ofSignal(int number) {
        return 128 + number;
    }

    /** The part of {@code --help} that lists them; {@code run} and {@code tck} have some that the others do not have. */
    public static void addToHelp(UsageMessageSpec help, String command) {
        Map<String, String> codes = new TreeMap<>(Comparator.comparingInt(ExitCodes::order));
        codes.putAll(OF_ALL);
        codes.putAll(
                switch (command) {
                    case "run" -> OF_RUN;
                    case "tck" -> OF_TCK;
                    case "", "resize", "destroy" -> OF_REMOVALS;
                    default -> OF_OTHERS;
                });
        help.exitCodeListHeading("%nExit codes:%n");
        help.exitCodeList(codes);
    }

    private static int order(String code) {
        return code.equals(ANY) ? 0 : Integer.parseInt(code);
    }
}
