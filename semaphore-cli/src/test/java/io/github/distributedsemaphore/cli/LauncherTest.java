package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script {@code bin/semaphore}, in a copy of the tree where {@code java} is a script that tells how it was called. */
final class LauncherTest {
    private static final String MARK = "io.github.distributedsemaphore.cli.ran";

    @TempDir
    private Path folder;

    private Path script;

    @BeforeEach
    void copyTheScript() throws IOException {
        // As the script sees it, through no symbolic link.
        folder = folder.toRealPath();
        script = folder.resolve("bin/semaphore");
        Files.createDirectories(script.getParent());
        Files.copy(Path.of("../bin/semaphore"), script);
        writeProgram("jdk/bin/java", "#!/bin/sh\nprintf '%s\\n' \"$$\" \"$@\"\n");
    }

    private void writeProgram(String name, String text) throws IOException {
        Path program = folder.resolve(name);
        Files.createDirectories(program.getParent());
        Files.writeString(program, text);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private void pretendItIsBuilt() throws IOException {
        Files.createDirectories(folder.resolve("semaphore-cli/target/lib"));
        Files.createFile(folder.resolve("semaphore-cli/target/semaphore-cli.jar"));
    }

    private record Outcome(long pid, int code, String output) {}

    private Outcome call(Path directory, String program, String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(List.of(words));
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true);
        builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
        builder.environment().put("SEMAPHORE_JAVA_OPTS", "-Da=1 -Db=2");
        builder.environment().put("JDK_JAVA_OPTIONS", "-Xmx64m -XX:MaxRAMPercentage=50");
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"));
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Outcome(process.pid(), process.waitFor(), output);
    }

    @Test
    void theJvmTakesThePlaceOfTheScriptAndGetsEveryWord() throws IOException, InterruptedException {
        pretendItIsBuilt();

        Outcome outcome = call(folder, script.toString(), "run", "a b", "--", "*", "");

        assertThat(outcome.code()).isZero();
        assertThat(outcome.output()).startsWith(outcome.pid() + "\n").contains("\n-Da=1\n-Db=2\n");
        assertThat(outcome.output()).endsWith("\n" + Main.class.getName() + "\nrun\na b\n--\n*\n\n");
    }

    @Test
    void aLocaleWithoutACharsetDamagesNoWordAndIsTheCommandsAsItWas() throws IOException, InterruptedException {
        pretendItIsBuilt();
        useTheRealJvm();
        // Bytes, whatever locale these tests run in.
        String call =
                "\"$0\" --backend 'local:" + folder.resolve("state") + "' run \"$(printf 'n\\303\\274')\" --limit 1"
                        + " -- sh -c 'printf \"%s \" \"$@\" \"$SEMAPHORE_NAME\"; env | grep \"LC_ALL\"; :' -"
                        + " \"$(printf '\\303\\274')\"";

        assertThat(inLocale(call, "LC_ALL=C", "LANG=de_DE.UTF-8")).isEqualTo("ü nü LC_ALL=C\n");
        assertThat(inLocale(call, "LC_ALL=")).isEqualTo("ü nü LC_ALL=\n");
        assertThat(inLocale(call, "LANG=POSIX")).isEqualTo("ü nü ");
        assertThat(inLocale(call, "LC_ALL=C.UTF-8")).isEqualTo("ü nü LC_ALL=C.UTF-8\n");
        // Locales that no machine has.
        assertThat(inLocale(call, "LC_ALL=xx_XX.UTF-8")).isEqualTo("ü nü LC_ALL=xx_XX.UTF-8\n");
        assertThat(inLocale(call, "LC_CTYPE=xx", "LANG=C.UTF-8")).isEqualTo("ü nü ");
    }

    @Test
    void theListOfTheJvmsThreadsIsNotPartOfTheCommandsOutput() throws IOException {
        pretendItIsBuilt();
        useTheRealJvm();
        String command = "kill -s QUIT $PPID; until grep -qs 'Full thread dump' out err; do sleep 0.01; done";
        ProcessBuilder builder = new ProcessBuilder(
                        script.toString(),
                        "--backend",
                        "local:" + folder.resolve("state"),
                        "run",
                        "job",
                        "--limit",
                        "1",
                        "--",
                        "sh",
                        "-c",
                        command)
                .directory(folder.toFile())
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(folder.resolve("err").toFile());
        builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
        Process run = builder.start();
        try {
            await().until(() -> !run.isAlive());
            assertThat(run.exitValue()).isZero();
        } finally {
            run.destroyForcibly().onExit().join();
        }
        assertThat(folder.resolve("out")).isEmptyFile();
        assertThat(folder.resolve("err")).content().contains("Full thread dump");
    }

    /** With the options of the script, on the classes under test. */
    private void useTheRealJvm() throws IOException {
        // No archive can be made: it would be one of the classes under test.
        Files.createFile(folder.resolve("semaphore-cli/target/archive"));
        writeProgram(
                "jdk/bin/java",
                "#!/bin/sh\noptions=\nwhile [ \"$1\" != -classpath ]; do options=\"$options $1\"; shift; done\nshift 2\nexec '"
                        + Path.of(System.getProperty("java.home"), "bin", "java") + "' $options -classpath '"
                        + System.getProperty("java.class.path") + "' \"$@\"\n");
    }

    private String runAndThen() {
        return "\"$0\" --backend 'local:" + folder.resolve("state") + "' run job --limit 1 -- ";
    }

    /** The JVM would open its files there, and the command would read them. */
    @Test
    void aStandardStreamThatIsClosedIsNoFileOfTheJvm() throws IOException, InterruptedException {
        pretendItIsBuilt();
        useTheRealJvm();
        Path streams = folder.resolve("streams");
        String look = "sh -c 'wc -c; all=$(readlink /proc/$$/fd/[012]); echo \"$all\" >" + streams + "'";

        assertThat(inLocale(runAndThen() + look + " <&-")).isEqualTo("0\n");
        assertThat(inLocale(runAndThen() + look + " <&- >&- 2>&-")).isEmpty();
        assertThat(streams).hasContent("/dev/null\n/dev/null\n/dev/null\n");
    }

    @Test
    void outputThatCannotBeWrittenIsStillAnError() throws IOException, InterruptedException {
        pretendItIsBuilt();
        useTheRealJvm();

        assertThat(inLocale("\"$0\" --help >&- || echo $?"))
                .contains("standard output")
                .endsWith("\n1\n");
    }

    @Test
    void theCommandHasTheCallersLimitOfOpenFiles() throws IOException, InterruptedException {
        pretendItIsBuilt();
        useTheRealJvm();

        assertThat(inLocale("ulimit -Sn 512; " + runAndThen() + "sh -c 'ulimit -Sn'"))
                .isEqualTo("512\n");
    }

    private String inLocale(String call, String... locale) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of("env", "-i", "PATH=" + System.getenv("PATH"), "JAVA_HOME=" + folder.resolve("jdk")));
        command.addAll(List.of(locale));
        command.addAll(List.of("sh", "-c", call, script.toString()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    @Test
    void itFindsItsJarsThroughLinksAndFromAnywhere() throws IOException, InterruptedException {
        pretendItIsBuilt();
        Path elsewhere = Files.createDirectories(folder.resolve("else where"));
        Files.createSymbolicLink(elsewhere.resolve("first"), Path.of("../bin/semaphore"));
        Files.createSymbolicLink(elsewhere.resolve("second"), elsewhere.resolve("first"));

        Outcome outcome = call(elsewhere, "./second");

        String target = folder + "/semaphore-cli/target";
        assertThat(outcome.output()).contains("\n-classpath\n" + target + "/semaphore-cli.jar:" + target + "/lib/*\n");
    }

    @Test
    void theKitIsOnThePathOfItsOwnCommandOnly() throws IOException, InterruptedException {
        pretendItIsBuilt();
        String kit = folder + "/semaphore-cli/target/lib/kit/*";

        assertThat(call(folder, script.toString(), "--backend", "local:", "tck").output())
                .contains(":" + kit + "\n");
        assertThat(call(folder, script.toString(), "run", "tck", "--", "tck").output())
                .doesNotContain(kit);
    }

    @Test
    void theFirstRunOverABackendLeavesAnArchiveForTheLaterOnes() throws IOException, InterruptedException {
        pretendItIsBuilt();

        assertThat(call(folder, script.toString(), "status").output())
                .doesNotContain("-XX:ArchiveClassesAtExit", "-XX:Shared");
        String made = archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y"));
        assertThat(made).endsWith("-local.jsa.new");
        Path archive = Path.of(made.substring(0, made.length() - ".new".length()));
        // A JVM that died had the claim; the next one makes the archive.
        Files.writeString(
                Path.of(archive + ".claim"),
                call(folder, script.toString(), "status").pid() + "\n");
        assertThat(archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y")))
                .isEqualTo(made);
        // An archive that was cut off while it was written is of no use.
        Files.write(Path.of(made), new byte[] {0, 0, 0, 0, 7});
        assertThat(archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y")))
                .isEqualTo(made);
        pretendItLeft(made);
        assertThat(archiveIn("SharedArchiveFile", call(folder, script.toString(), "status")))
                .isEqualTo(archive.toString());
        assertThat(call(folder, script.toString(), "run", "--backend", "redis://x", "x", "--", "y")
                        .output())
                .contains("-redis.jsa.new\n");
    }

    @Test
    void anArchiveIsMadeByOneRunAtATimeAndAgainForNewJars() throws IOException, InterruptedException {
        pretendItIsBuilt();
        String made = archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y"));
        Path archive = Path.of(made.substring(0, made.length() - ".new".length()));
        Files.writeString(Path.of(archive + ".claim"), ProcessHandle.current().pid() + "\n");
        assertThat(call(folder, script.toString(), "run", "x", "--", "y").output())
                .doesNotContain(".jsa");
        Files.delete(Path.of(archive + ".claim"));

        Files.createFile(archive);
        Path jar = Files.createFile(folder.resolve("semaphore-cli/target/lib/a.jar"));
        Files.setLastModifiedTime(jar, FileTime.from(Instant.now().plusSeconds(60)));
        assertThat(archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y")))
                .isEqualTo(made);
    }

    /** What a JVM that has run a command leaves. */
    private static void pretendItLeft(String made) throws IOException {
        Files.write(Path.of(made), new byte[] {7, 7, 7, 7, 7});
        Files.createFile(Path.of(made + ".used"));
    }

    @Test
    void aRunThatRanNothingLeavesNoArchive() throws IOException, InterruptedException {
        pretendItIsBuilt();
        Outcome first = call(folder, script.toString(), "run", "--help");
        String made = archiveIn("ArchiveClassesAtExit", first);
        assertThat(first.output()).contains("\n-D" + MARK + "=" + made + ".used\n");
        Files.write(Path.of(made), new byte[] {7, 7, 7, 7, 7});

        Outcome second = call(folder, script.toString(), "run", "x", "--", "y");
        assertThat(archiveIn("ArchiveClassesAtExit", second)).isEqualTo(made);
        assertThat(Path.of(made)).doesNotExist();
        pretendItLeft(made);
        assertThat(call(folder, script.toString(), "run", "x", "--", "y").output())
                .contains("-XX:SharedArchiveFile=", "\n-D" + MARK + "=\n");
        try (Stream<Path> left = Files.list(Path.of(made).resolveSibling(""))) {
            assertThat(left).hasSize(1);
        }
    }

    @Test
    void theMarkOfAnArchiveIsMadeWhenACommandHasRun() throws IOException, InterruptedException {
        pretendItIsBuilt();
        useTheRealJvm();
        Path mark = folder.resolve("mark");
        String option = "SEMAPHORE_JAVA_OPTS=-D" + MARK + "=" + mark;

        String none = "; [ $? = 5 ]";
        assertThat(inLocale("\"$0\" --backend 'local:" + folder.resolve("state") + "' run job -- true" + none, option))
                .contains("job");
        assertThat(mark).doesNotExist();
        assertThat(inLocale(runAndThen() + "true", option)).isEmpty();
        assertThat(mark).exists();
        // That there is one already, or that none can be made, changes nothing.
        assertThat(inLocale(runAndThen() + "true", option)).isEmpty();
    }

    /** A JVM with such an option refuses to make one, and does not start. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "JAVA_TOOL_OPTIONS=-javaagent:x.jar",
                "JAVA_TOOL_OPTIONS=-Da=b -agentpath:/x.so",
                "JDK_JAVA_OPTIONS=--limit-modules java.base",
                "_JAVA_OPTIONS=-Xrunx",
                "SEMAPHORE_JAVA_OPTS=-Da=b -agentlib:jdwp=server=y",
            })
    void noArchiveIsMadeWithAnAgentOrOtherModules(String variable) throws IOException, InterruptedException {
        pretendItIsBuilt();

        assertThat(call(folder, "env", variable, script.toString(), "run", "x", "--", "y")
                        .output())
                .contains(Main.class.getName())
                .doesNotContain(".jsa");
    }

    /** A JVM that cannot write all of it ends with 1, whatever the command ended with. */
    @Test
    void noArchiveIsMadeWhereItMayFindNoRoom() throws IOException, InterruptedException {
        pretendItIsBuilt();
        writeProgram(
                "full/df",
                "#!/bin/sh\necho 'Filesystem 1024-blocks Used Available Capacity Mounted on'\necho '/dev/a b 264212084 264204084 8000 99% /mnt'\n");

        assertThat(call(folder, "sh", "-c", "ulimit -f 64; exec \"$0\" run x -- y", script.toString())
                        .output())
                .contains(Main.class.getName())
                .doesNotContain(".jsa");
        assertThat(call(folder, "sh", "-c", "PATH=" + folder + "/full:$PATH exec \"$0\" run x -- y", script.toString())
                        .output())
                .contains(Main.class.getName())
                .doesNotContain(".jsa");
        assertThat(call(folder, script.toString(), "run", "x", "--", "y").output())
                .contains("ArchiveClassesAtExit");
    }

    @Test
    void aClaimWithTheIdOfTheRunItselfIsTakenOver() throws IOException, InterruptedException {
        pretendItIsBuilt();
        String made = archiveIn("ArchiveClassesAtExit", call(folder, script.toString(), "run", "x", "--", "y"));
        String claim = made.replaceFirst("new$", "claim");

        // As in a container that is started again: exec keeps the process id.
        Outcome outcome =
                call(folder, "sh", "-c", "echo $$ >'" + claim + "'; exec \"$0\" run x -- y", script.toString());

        assertThat(archiveIn("ArchiveClassesAtExit", outcome)).isEqualTo(made);
        assertThat(Path.of(claim)).hasContent(Long.toString(outcome.pid()));
    }

    @Test
    void whereNoArchiveCanBeWrittenItRunsWithoutOne() throws IOException, InterruptedException {
        pretendItIsBuilt();
        Files.createFile(folder.resolve("semaphore-cli/target/archive"));

        Outcome outcome = call(folder, script.toString(), "run", "x", "--", "y");

        assertThat(outcome.code()).isZero();
        assertThat(outcome.output())
                .startsWith(outcome.pid() + "\n")
                .doesNotContain(".jsa")
                .endsWith("\nx\n--\ny\n");
    }

    private static String archiveIn(String option, Outcome outcome) {
        return outcome.output()
                .lines()
                .filter(line -> line.startsWith("-XX:" + option + "="))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + option + " in " + outcome.output()))
                .replaceFirst("^[^=]*=", "");
    }

    @Test
    void withoutItsJarsItSaysHowToBuildThem() throws IOException, InterruptedException {
        Outcome outcome = call(folder, script.toString(), "status");

        assertThat(outcome.code()).isEqualTo(72);
        assertThat(outcome.output()).hasLineCount(1).contains("not built", "mvn -f '" + folder + "/pom.xml'");
    }

    @Test
    void withoutAJvmItSaysWhatToInstall() throws IOException, InterruptedException {
        pretendItIsBuilt();
        Files.delete(folder.resolve("jdk/bin/java"));

        Outcome outcome = call(folder, script.toString(), "status");

        assertThat(outcome.code()).isEqualTo(72);
        assertThat(outcome.output()).hasLineCount(1).contains("JDK of version 17");
    }
}
