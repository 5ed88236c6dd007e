package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code examples/run} in a fresh checkout, with a Maven that only says what it does and waits when told. */
@Timeout(120)
class RunScriptTest {
    private static final String FAKE_MAVEN = """
            #!/bin/bash
            echo begun >> "$FAKE/builds"
            printf '\\033[0m\\033[0m\\n\\033[31m%s\\033[0m\\n' "$SAYS"
            [[ ! -e $FAKE/hold ]] || read -r _ < "$FAKE/hold"
            mkdir -p "$FAKE/project/target/lib" "$FAKE/project/target/classes" "$FAKE/project/target/test-classes"
            touch "$FAKE/project/target/test-classes/Devices.class"
            exit "$STATUS"
            """;

    /** Makes a cache when it is asked for one, says a lot then, and notes which cache an example has. */
    private static final String FAKE_JAVA = """
            #!/bin/bash
            for option; do
                case $option in
                -XX:AOTCacheOutput=*)
                    echo made >> "$FAKE/caches"
                    echo 'Reading AOTConfiguration' | tee /dev/stderr
                    [[ -e $FAKE/refuse ]] || touch "${option#*=}"
                    exit
                    ;;
                -XX:AOTCache=*) [[ -f ${option#*=} ]] && echo used >> "$FAKE/caches" ;;
                esac
            done
            echo ran the example
            """;
    private static final String FAKE_JAR = """
            #!/bin/bash
            [[ $1 == --create && $2 == --file ]] && touch "$3"
            """;

    @TempDir
    private Path folder;

    @BeforeEach
    void checkout() throws IOException {
        for (String file : List.of("examples/run", "examples/Devices.java", ".ci/jdk.sh", "pom.xml")) {
            Path copy = folder.resolve("project").resolve(file);
            Files.createDirectories(copy.getParent());
            Files.copy(Path.of(file), copy);
        }
        Files.createDirectories(folder.resolve("project/module-info"));
        Files.createDirectories(folder.resolve("project/src/main/java"));
        script("jdk/bin/javac", "#!/bin/sh\n");
        script("jdk/bin/java", FAKE_JAVA);
        script("jdk/bin/jar", FAKE_JAR);
        Files.writeString(folder.resolve("jdk/release"), "JAVA_VERSION=\"25.0.1\"\n");
        script("path/mvn", FAKE_MAVEN);
    }

    private void script(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Process run(String says, int status) throws IOException {
        ProcessBuilder builder = new ProcessBuilder("examples/run", "Devices").redirectErrorStream(true)
                .directory(folder.resolve("project").toFile());
        builder.environment().put("PATH", folder.resolve("path") + ":" + System.getenv("PATH"));
        builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
        builder.environment().remove("IN_GUEST");
        builder.environment().put("FAKE", folder.toString());
        builder.environment().put("SAYS", says);
        builder.environment().put("STATUS", Integer.toString(status));
        return builder.start();
    }

    private static String output(Process process) throws Exception {
        String text = new String(process.getInputStream().readAllBytes());
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the script ends");
        return text;
    }

    private int builds() throws IOException {
        return Files.readAllLines(folder.resolve("builds")).size();
    }

    @Test
    void ofTwoAtOnceOneBuildsAndTheOtherWaitsAndSaysSo() throws Exception {
        Path hold = folder.resolve("hold");
        assertEquals(0, new ProcessBuilder("mkfifo", hold.toString()).start().waitFor());
        Process first = run("", 0);
        BufferedReader ofFirst = first.inputReader();
        assertTrue(ofFirst.readLine().startsWith("building "));
        Process second = run("", 0);
        BufferedReader ofSecond = second.inputReader();
        assertTrue(ofSecond.readLine().startsWith("another build is going on"));
        Files.writeString(hold, "go on\n");
        assertEquals("ran the example", ofFirst.readLine());
        assertEquals("ran the example", ofSecond.readLine());
        assertEquals(0, first.waitFor());
        assertEquals(0, second.waitFor());
        assertEquals(1, builds());
    }

    @Test
    void whatIsUpToDateIsNotBuiltAgain() throws Exception {
        output(run("", 0));
        assertEquals("ran the example\n", output(run("", 0)));
        assertEquals(1, builds());
    }

    private List<String> caches() throws IOException {
        return Files.readAllLines(folder.resolve("caches"));
    }

    @Test
    void aCacheIsMadeOnceForABuildAndNothingIsSaidOfIt() throws Exception {
        assertFalse(output(run("", 0)).contains("AOT"));
        assertEquals("ran the example\n", output(run("", 0)));
        assertEquals(List.of("made", "used", "used"), caches());
        Files.writeString(folder.resolve("project/target/classes/New.class"), "built by Maven");
        assertEquals("ran the example\n", output(run("", 0)));
        assertEquals(List.of("made", "used", "used", "made", "used"), caches());
        try (Stream<Path> built = Files.list(folder.resolve("project/target"))) {
            assertEquals(2, built.filter(path -> path.getFileName().toString().startsWith("start")).count(),
                    "one folder, and the link to it");
        }
    }

    @Test
    void aCacheThatCannotBeMadeIsDoneWithout() throws Exception {
        Files.createFile(folder.resolve("refuse"));
        output(run("", 0));
        assertEquals("ran the example\n", output(run("", 0)));
        assertEquals(List.of("made"), caches());
    }

    @Test
    void aBuildThatFailsShowsItsErrorWithoutColours() throws Exception {
        Process failed = run("no such package", 1);
        String text = output(failed);
        assertTrue(text.contains("no such package\nthe build failed\n"), text);
        assertFalse(text.contains("\033") || text.contains("ran"), text);
        assertNotEquals(0, failed.exitValue());
    }
}
