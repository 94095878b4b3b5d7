package io.github.distributedsemaphore.tck.planted;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A mistake in a real source file: some of its text is replaced, and the class is compiled anew. Immutable.
 *
 * @param name what is wrong, in a few words
 * @param rule the rule whose tests have to find it
 * @param message a part of what one of them has to say
 * @param edits what is replaced in each source file, which is named from the root of the project
 */
public record PlantedBug(String name, String rule, String message, Map<String, Map<String, String>> edits) {
    private static final String MAIN = "/src/main/java/io/github/distributedsemaphore/";

    /**
     * Keeps unmodifiable copies.
     *
     * @param name see the record
     * @param rule see the record
     * @param message see the record
     * @param edits see the record
     */
    public PlantedBug {
        edits = Collections.unmodifiableMap(new LinkedHashMap<>(edits));
    }

    /** Nothing is wrong: the rule passes. */
    static PlantedBug none(String rule) {
        return new PlantedBug("nothing", rule, "", Map.of());
    }

    /**
     * Plants a mistake in one file.
     *
     * @param name what is wrong
     * @param rule the rule that has to find it
     * @param message a part of what it has to say
     * @param module the module, such as {@code semaphore-local}
     * @param source the file below the common package, such as {@code local/SlotFile.java}
     * @param oldAndNew pairs of a text that occurs once, whatever its white space is, and of its replacement
     * @return the mistake
     */
    public static PlantedBug of(
            String name, String rule, String message, String module, String source, String... oldAndNew) {
        Map<String, String> edits = new LinkedHashMap<>();
        for (int i = 0; i < oldAndNew.length; i += 2) {
            edits.put(oldAndNew[i], oldAndNew[i + 1]);
        }
        return new PlantedBug(name, rule, message, Map.of(module + MAIN + source, edits));
    }

    /** Compiles the wrong classes into a folder. */
    void compile(Path folder, String classPath) throws IOException {
        Path sources = Files.createDirectories(folder.resolve("sources"));
        List<Path> files = new ArrayList<>();
        for (Map.Entry<String, Map<String, String>> edit : edits.entrySet()) {
            Path right = Path.of("..").resolve(edit.getKey());
            Path wrong = sources.resolve(right.getFileName());
            Files.writeString(wrong, edited(right, edit.getValue()));
            files.add(wrong);
        }
        Path classes = Files.createDirectories(folder.resolve("classes"));
        if (!files.isEmpty()) {
            compile(files, classes, classPath);
        }
    }

    private static String edited(Path file, Map<String, String> edits) throws IOException {
        String text = Files.readString(file);
        for (Map.Entry<String, String> edit : edits.entrySet()) {
            Matcher matcher = inAnyLayout(edit.getKey()).matcher(text);
            List<String> found =
                    matcher.results().map(result -> result.group()).toList();
            if (found.size() != 1) {
                throw new IllegalStateException(file + " has " + found.size() + " times, where a bug is planted once: "
                        + edit.getKey());
            }
            text = text.replace(found.get(0), edit.getValue());
        }
        return text;
    }

    private static Pattern inAnyLayout(String text) {
        return Pattern.compile(Arrays.stream(text.strip().split("\\s+"))
                .map(Pattern::quote)
                .collect(Collectors.joining("\\s+")));
    }

    private static void compile(List<Path> sources, Path classes, String classPath) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        List<String> options = List.of(
                "-d", classes.toString(), "-cp", classPath, "-proc:none", "-implicit:none", "--release", "17");
        try (StandardJavaFileManager files = compiler.getStandardFileManager(said, null, null)) {
            boolean done = compiler.getTask(null, files, said, options, null, files.getJavaFileObjectsFromPaths(sources))
                    .call();
            if (!done) {
                throw new IllegalStateException("the planted bug does not compile: "
                        + said.getDiagnostics().stream()
                                .filter(one -> one.getKind() == Diagnostic.Kind.ERROR)
                                .toList());
            }
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
