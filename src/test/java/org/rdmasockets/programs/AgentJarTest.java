package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/**
 * The effects of the agent's jar on a program: classes and openings, where it logs, and its messages when it cannot
 * work: {@link AgentGuest} under the agent.
 */
@Execution(ExecutionMode.CONCURRENT)
class AgentJarTest {
    private static final String TEST_CLASSES = "target/test-classes";

    @TempDir
    private Path directory;

    private static Path jar() throws IOException {
        return Place.agent();
    }

    /** The JVM may call native functions, so it says neither a warning nor a line of the log. */
    @Test
    void theJarIsAlsoADoctor() throws Exception {
        List<String> options = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", jar().toString());
        try (Program program = Program.start(Place.java(options, "doctor", "--json"))) {
            String output = program.awaitSuccess();
            assertTrue(output.startsWith("{\"system\":\"Java ") && output.strip().endsWith("]}"), output);
            assertTrue(output.contains("{\"level\":\"ok\",\"subject\":\"sharedmemory\""), output);
        }
        try (Program program = Program.start(Place.java(options))) {
            assertEquals(2, program.awaitEnd());
            assertTrue(program.output().startsWith("usage: java -jar "), program::output);
        }
        try (Program program = Program.start(Place.java(options, "help"))) {
            assertEquals(2, program.awaitEnd());
            assertTrue(program.output().startsWith("usage: doctor "), program::output);
        }
    }

    /** A program configures its logging itself, in main. */
    @Test
    void theAgentItselfDoesNotLog() throws Exception {
        try (Program program = guest(List.of("-javaagent:" + jar(), "-Xlog:class+load"), TEST_CLASSES)) {
            String output = program.awaitSuccess();
            assertTrue(output.contains("org.rdmasockets.RdmaSockets source:"), output);
            assertFalse(output.contains("org.slf4j.LoggerFactory"), output);
        }
    }

    @Test
    void nothingIsOpenedToTheProgramAndNothingIsBroughtToIt() throws Exception {
        try (Program program = guest(List.of("-javaagent:" + jar()), TEST_CLASSES, "trespass")) {
            assertEquals(List.of("java.lang: closed", "java.net: closed", "native access: false",
                    "defineClass: InaccessibleObjectException", "org.slf4j.Logger: absent",
                    "org.jctools.queues.MessagePassingQueue: absent", "org.rdmasockets.RdmaSockets: absent",
                    "org.rdmasockets.internal.agent.Installation: absent"), program.awaitSuccess().lines().toList());
        }
    }

    @Test
    void theAgentsJarNeedsNothingBesideIt() throws Exception {
        Path alone = Files.copy(jar(), Files.createDirectories(directory.resolve("a b!/c#%41")).resolve("al one.jar"));
        try (Program program = guest(List.of("-javaagent:" + alone), TEST_CLASSES, "meet")) {
            assertTrue(program.awaitSuccess().contains("met over " + Place.here().orSkip().transport().name()),
                    program::output);
        }
    }

    /** Its first line is that of SLF4J, which complains when it is used without a provider. */
    @Test
    void slf4jNeverComplainsOfWhatTheAgentLogs() throws Exception {
        String api = Place.library("slf4j-api");
        String simple = Place.library("slf4j-simple");
        Path copy = Files.copy(Path.of(simple), directory.resolve("second-provider.jar"));
        String both = ":" + api + ":" + simple;
        String oldApi = ":target/programs/slf4j-1.7/slf4j-api-1.7.36.jar";
        String oldSimple = ":target/programs/slf4j-1.7/slf4j-simple-1.7.36.jar";
        List<String> whole = List.of(both, oldApi + oldSimple);
        for (String more : List.of("", ":" + api, both + ":" + copy, both, ":" + simple, oldApi, oldApi + oldSimple,
                ":" + api + oldSimple, oldApi + ":" + simple)) {
            try (Program program = guest(List.of("-javaagent:" + jar()), TEST_CLASSES + more, "meet",
                    "logged=connected over ")) {
                String output = program.awaitSuccess();
                assertFalse(output.contains("SLF4J"), output);
                assertTrue(output.contains(whole.contains(more) ? "[rdma-log] INFO " : "INFO: [")
                        && output.contains("connected over"), more + "\n" + output);
            }
        }
    }

    /** The application names the provider for its own SLF4J, not for the agent's. */
    @Test
    void aProviderThatAPropertyNamesIsTheApplications() throws Exception {
        List<String> options = List.of("-javaagent:" + jar(),
                "-Dslf4j.provider=org.slf4j.simple.SimpleServiceProvider");
        for (String more : List.of("", ":" + Place.library("slf4j-api") + ":" + Place.library("slf4j-simple"))) {
            try (Program program = guest(options, TEST_CLASSES + more, "meet",
                    "logged=connected over ")) {
                String output = program.awaitSuccess();
                assertFalse(output.matches("(?s).*SLF4J\\([WE].*"), output);
                assertTrue(output.contains("connected over"), output);
            }
        }
    }

    /** SLF4J counts what is logged by it meanwhile, and says so. */
    @Test
    void anSlf4jThatOpensASocketWhileItStartsIsLeftAlone() throws Exception {
        String classPath = String.join(":", TEST_CLASSES, Place.library("slf4j-api"), startingProvider().toString());
        List<String> options = List.of("-javaagent:" + jar(), "-Dprovider.debug=true");
        try (Program program = guest(options, classPath, "log", "meet", "logged=logged by the provider of app: [")) {
            String output = program.awaitSuccess();
            assertTrue(output.contains("provider met over"), output);
            assertFalse(output.contains("SLF4J"), output);
            assertTrue(output.lines().anyMatch(line -> line.startsWith("logged by the provider of app: ")
                    && line.contains("connected over")), output);
        }
    }

    /** As in a web container: each has an SLF4J of its own, and is gone once it is stopped. */
    @Test
    void applicationsOfOneJvmHaveTheirOwnLogs() throws Exception {
        String urls = String.join(":", TEST_CLASSES, Place.library("slf4j-api"), startingProvider().toString());
        List<String> options = List.of("-javaagent:" + jar(), "-Dprovider.debug=true");
        try (Program program = guest(options, TEST_CLASSES, "meet", "applications=" + urls)) {
            String output = program.awaitSuccess();
            assertFalse(output.contains("SLF4J"), output);
            List<String> lines = output.lines().toList();
            for (String name : List.of("first", "second")) {
                assertTrue(lines.stream().anyMatch(line -> line.startsWith("logged by the provider of " + name + ": ")
                        && line.contains("connected over")), output);
                assertTrue(lines.contains(name + " is gone"), output);
            }
        }
    }

    /** An exception of a stopped application's logger does not break the connection. */
    @Test
    void aLoggerThatThrowsBreaksNoConnection() throws Exception {
        String classPath = String.join(":", TEST_CLASSES, Place.library("slf4j-api"), startingProvider().toString());
        try (Program program = guest(List.of("-javaagent:" + jar(), "-Dprovider.throws=true"), classPath, "meet",
                "logged=INFO: [")) {
            String output = program.awaitSuccess();
            assertTrue(output.contains("met over " + Place.here().orSkip().transport().name()), output);
            assertTrue(output.contains("INFO: ["), output);
        }
    }

    private Path startingProvider() throws IOException {
        Path services = Files.createDirectories(directory.resolve("provider/META-INF/services"));
        Files.writeString(services.resolve("org.slf4j.spi.SLF4JServiceProvider"),
                "org.rdmasockets.programs.AgentGuest$StartingProvider");
        return services.getParent().getParent();
    }

    /** The copy's classes are others than the agent's. */
    @Test
    void anApplicationThatBringsTheLibraryNamesItsOptions() throws Exception {
        String name = Place.here().orSkip().transport().name();
        try (Program program = guest(List.of("-javaagent:" + jar()), withLibrary(), "options")) {
            assertEquals(List.of("auto", "set to tcp", "STREAM_KIND READ_RING", "RDMA_SQSIZE 32",
                    "null: IllegalArgumentException", name + " " + name, "accepted " + name, "installed"),
                    program.awaitSuccess().lines().filter(line -> line.startsWith("> "))
                            .map(line -> line.substring(2)).toList(), program::output);
        }
    }

    /** Two copies in one process, each with engines of its own. */
    @Test
    void theSocketsOfSuchAnApplicationMeetTheAgents() throws Exception {
        try (Program program = guest(List.of("-javaagent:" + jar(), "--enable-native-access=ALL-UNNAMED"),
                withLibrary(), "copies")) {
            assertEquals(List.of("copy to agent: 7 8", "agent to copy: 7 8", "copy to copy: 7 8"),
                    program.awaitSuccess().lines().filter(line -> line.startsWith("> "))
                            .map(line -> line.substring(2)).toList(), program::output);
        }
    }

    private static String withLibrary() throws IOException {
        try (Stream<Path> libraries = Files.list(Path.of("target", "lib"))) {
            return libraries.filter(file -> file.getFileName().toString().matches("(jctools|slf4j).*"))
                    .map(Path::toString).collect(Collectors.joining(":", TEST_CLASSES + ":target/classes:", ""));
        }
    }

    private static Program guest(List<String> options, String classPath, String... arguments) throws IOException {
        List<String> all = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.log.org.rdmasockets=info"));
        all.addAll(options);
        all.addAll(List.of("-cp", classPath, "org.rdmasockets.programs.AgentGuest"));
        return Program.start(Place.java(all, arguments));
    }

    /** Only who asks for it gets it: they cost a thread and a wait that UDP alone does not. */
    @Test
    void datagramSocketsAreReplacedIfThatIsAskedFor() throws Exception {
        for (boolean asked : new boolean[] {false, true}) {
            List<String> options = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-javaagent:" + jar(),
                    "-Dorg.rdmasockets.datagrams=" + asked, "-cp", TEST_CLASSES);
            try (Program program = Program.start(Place.java(options, "org.rdmasockets.programs.PlainDatagrams",
                    "127.0.0.1"))) {
                String output = program.awaitSuccess();
                String expected = asked ? "sharedmemory" : "that of java.net";
                assertEquals(List.of("saw client: " + expected, "saw server: " + expected),
                        output.lines().filter(line -> line.startsWith("saw ")).toList(), output);
            }
        }
    }

    @Test
    void aMistakeInTheSettingsEndsTheAgentAtStart() throws Exception {
        String option = "-javaagent:" + jar() + "=";
        assertRefuses("no.rules", "-Dorg.rdmasockets.transport.rules=no.rules: the file cannot be read",
                option + "no.rules");
        assertRefuses("a directory", "-Dorg.rdmasockets.transport.rules=" + directory, option + directory);
        for (String mistake : List.of("rdma * *", "tcp *", "tcp * * *", "tcp * 0", "tcp * 65536", "tcp * 9-8",
                "tcp * 80,81", "tcp 10.0.0.0/33 *", "tcp /8 *", "tcp 10.0.0.0/ *", "tcp no-such-host.invalid *",
                "tcp 10.0.0.0.0 *", "TCP * *", "tcp \u00a0 \ufffd *")) {
            Path rules = Files.writeString(directory.resolve("my.rules"),
                    "# first\ntcp 10.0.0.0/8 *\n" + mistake + "\n");
            assertRefuses(mistake, rules + ":3: '", option + rules);
        }
        assertRefuses("transport", "-Dorg.rdmasockets.transport: 'rdma' is no transport", "-javaagent:" + jar(),
                "-Dorg.rdmasockets.transport=rdma");
        assertRefuses("fallback", "-Dorg.rdmasockets.transport.fallback=no: allowed or never is wanted",
                "-javaagent:" + jar(), "-Dorg.rdmasockets.transport.fallback=no");
    }

    private static void assertRefuses(String mistake, String reason, String... options) throws Exception {
        try (Program program = guest(List.of(options), TEST_CLASSES, "meet")) {
            assertEquals(1, program.awaitEnd(), () -> mistake + ": " + program);
            assertTrue(program.output().startsWith("-javaagent, rdma-sockets: " + reason), program::output);
            assertEquals(1, program.output().lines().count(), program::output);
        }
    }

    /** A file of an editor that writes a byte order mark, and a comment in Latin-1. */
    @Test
    void whatIsNoMistakeIsTaken() throws Exception {
        Path rules = directory.resolve("my.rules");
        Files.write(rules, "\u00ef\u00bb\u00bftcp * * # \u00e4\r\n".getBytes(StandardCharsets.ISO_8859_1));
        try (Program program = guest(List.of("-javaagent:" + jar() + "=" + rules), TEST_CLASSES, "meet")) {
            assertTrue(program.awaitSuccess().contains("met over tcp"), program::output);
        }
    }

    /** Java 17 comes with Debian's Maven. */
    @Test
    void anOldJvmSaysSoInOneSentenceAndStaysOnTcp() throws Exception {
        Path old = Place.oldJava();
        List<String> plain = List.of();
        List<String> agent = List.of("-javaagent:" + jar());
        try (Program server = Program.start(Place.java(List.of("-Dh2.bindAddress=127.0.0.1", "-cp",
                Place.library("h2")), "org.h2.tools.Server", "-tcp", "-tcpPort", "0", "-ifNotExists"))) {
            String where = "jdbc:h2:tcp://127.0.0.1:" + server.awaitLine("TCP server running at ")
                    .replaceFirst("^.*:(\\d+).*$", "$1") + "/mem:test";
            List<String> expected = oldShell(old, plain, where);
            List<String> lines = new ArrayList<>(oldShell(old, agent, where));
            assertTrue(lines.removeFirst().matches("-javaagent, rdma-sockets: Java 25 or later is needed, this is Java "
                    + "[\\w.]+ in \\S+; its sockets stay on TCP"), lines::toString);
            assertEquals(expected, lines);
        }
        for (String forbidden : List.of("transport.fallback=never", "transport=sharedmemory")) {
            try (Program program = Program.start(old.toString(), agent.getFirst(), "-Dorg.rdmasockets." + forbidden,
                    "-version")) {
                assertEquals(1, program.awaitEnd(), program::toString);
                assertTrue(program.output().matches("-javaagent, rdma-sockets: Java 25 or later is needed, .*"),
                        program::output);
            }
        }
    }

    private static List<String> oldShell(Path java, List<String> options, String where) throws Exception {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(options);
        command.addAll(List.of("-cp", Place.library("h2"), "org.h2.tools.Shell", "-url", where, "-user", "sa",
                "-password", "x", "-sql", "select 1; select x from system_range(1, 1000)"));
        try (Program shell = Program.start(command.toArray(String[]::new))) {
            return shell.awaitSuccess().lines().map(line -> line.replaceFirst(", \\d+ ms\\)", ")")).toList();
        }
    }
}
