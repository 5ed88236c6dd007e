package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
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
 * The built jar as an agent of unmodified programs: the server and the shell of the H2 database, which use plain
 * {@code new ServerSocket} and {@code new Socket}.
 */
@Execution(ExecutionMode.CONCURRENT)
class AgentTest {
    private static final String SERVER = "org.h2.tools.Server";
    private static final String SHELL = "org.h2.tools.Shell";
    private static final String QUERY = "create table t as select x, md5 from (select x, rawtohex(hash('SHA-256', x)) "
            + "as md5 from system_range(1, 3000)); select count(*), min(md5), max(md5) from t; select * from t";

    @TempDir
    private Path directory;

    /** Where the programs meet. */
    Place place() {
        return Place.here().orSkip();
    }

    private static Path jar() throws IOException {
        return Place.agent();
    }

    /** The program's own libraries: this project is not among them. */
    private static String classPath() throws IOException {
        try (Stream<Path> libraries = Files.list(Path.of("target", "lib"))) {
            return libraries.filter(file -> file.getFileName().toString().matches("(h2|slf4j)-.*"))
                    .map(Path::toString).collect(Collectors.joining(":"));
        }
    }

    /** Its patience of two seconds is short for a busy machine: half of that is for the first choice. */
    private static Program h2(List<String> options, String... arguments) throws IOException {
        return Program.start(Place.java(Stream.concat(options.stream(),
                Stream.of("-Dh2.socketConnectTimeout=60000", "-cp", classPath())).toList(), arguments));
    }

    /** It tries to connect to itself, so it must know where. */
    private Program server(Place place, List<String> options, String... more) throws IOException {
        List<String> all = new ArrayList<>(options);
        all.add("-Dh2.bindAddress=" + place.host());
        List<String> arguments = new ArrayList<>(List.of(SERVER, "-tcp", "-tcpAllowOthers", "-tcpPort", "0",
                "-ifNotExists", "-baseDir", directory.toString()));
        arguments.addAll(List.of(more));
        return h2(all, arguments.toArray(String[]::new));
    }

    /** The output of the shell, less the parts that differ from run to run. */
    private static List<String> answer(Place place, List<String> options, Program server) throws Exception {
        String where = server.awaitLine("TCP server running at ").replaceFirst("^(\\w+)://.*:(\\d+).*$",
                "$1://" + place.host() + ":$2");
        try (Program shell = h2(options, SHELL, "-url", "jdbc:h2:" + where + "/mem:test", "-user", "sa", "-password",
                "x", "-sql", QUERY)) {
            String output = shell.awaitSuccess();
            String expected = "connected over " + place.transport().name();
            assertEquals(options.toString().contains("-javaagent"), output.contains(expected), output);
            return output.lines().filter(line -> !line.contains("org.rdmasockets"))
                    .map(line -> line.replaceFirst(", \\d+ ms\\)", ")")).toList();
        }
    }

    @Test
    void anUnmodifiedDatabaseAndItsShellMeetOverTheTransport() throws Exception {
        assertTheSameAsOverTcp(place(), List.of());
    }

    /** Its TLS is that of {@code SSLServerSocket} and {@code SSLSocket}, which are made of plain sockets, too. */
    @Test
    void soTheyDoWithTls() throws Exception {
        assertTheSameAsOverTcp(place(), List.of("-Duser.home=" + directory,
                "-Djavax.net.ssl.trustStore=" + directory.resolve(".h2.keystore"),
                "-Djavax.net.ssl.trustStorePassword=h2pass"), "-tcpSSL");
    }

    private void assertTheSameAsOverTcp(Place place, List<String> options, String... arguments) throws Exception {
        List<String> plain = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        plain.addAll(options);
        List<String> agent = new ArrayList<>(place.options("-javaagent:" + jar()));
        agent.addAll(options);
        List<String> expected;
        try (Program server = server(place, plain, arguments)) {
            expected = answer(place.tcp(), plain, server);
        }
        assertEquals(3000 + 6, expected.size(), () -> String.join("\n", expected));
        try (Program server = server(place, agent, arguments)) {
            assertEquals(expected, answer(place, agent, server));
            server.awaitText("accepted over " + place.transport().name());
            assertFalse(server.output().contains("WARNING"), server::output);
        }
    }

    /** Only that end has the agent, so they meet over TCP, which says why. */
    @Test
    void aProgramWithoutTheAgentIsServedAsEver() throws Exception {
        List<String> agent = Place.here().orSkip().options("-javaagent:" + jar());
        try (Program server = server(Place.here(), agent)) {
            answer(Place.here().tcp(), List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), server);
            server.awaitText("accepted over tcp");
        }
    }

    @Test
    void theArgumentIsAFileOfRules() throws Exception {
        Path rules = Files.writeString(directory.resolve("my.rules"), "tcp * *\n");
        List<String> agent = Place.here().options("-javaagent:" + jar() + "=" + rules);
        try (Program server = server(Place.here(), agent)) {
            answer(Place.here().tcp(), agent, server);
            server.awaitText("listens over tcp alone: the rule in " + rules + ":1");
        }
    }

    @Test
    void nativeAccessIsGrantedWhereItIsDeniedToOthers() throws Exception {
        List<String> agent = Place.here().orSkip().options("--illegal-native-access=deny", "-javaagent:" + jar());
        try (Program server = server(Place.here(), agent)) {
            answer(Place.here(), agent, server);
        }
    }
}
