import java.lang.reflect.Method;
import picocli.AutoComplete;
import picocli.CommandLine;

/** Prints the completion for bash. picocli's own program sees the class of the command alone, which adds its commands when it is called. */
class Completion {
    public static void main(String[] args) throws ReflectiveOperationException {
        Method all = Class.forName("io.github.distributedsemaphore.cli.Main")
                .getDeclaredMethod("commandLine", String[].class);
        all.setAccessible(true);
        System.out.print(AutoComplete.bash("semaphore", (CommandLine) all.invoke(null, (Object) new String[0])));
    }
}
