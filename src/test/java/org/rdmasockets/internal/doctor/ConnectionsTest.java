package org.rdmasockets.internal.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.interop.Program;

/** A hundred connections of three processes, one of them a program that only the agent has changed. */
@Timeout(180)
class ConnectionsTest {
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");
    private static final int SHARED = 60;
    private static final int TCP = 10;
    private static final int PLAIN = 30;
    private static final int USER = 64343;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endAll() throws Exception {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    private static Path jar() throws IOException {
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(Path.of("target"), "rdma-sockets-*-agent.jar")) {
            return jars.iterator().next().toAbsolutePath();
        }
    }

    /** Starts a process, and gives the first line that it prints, which tells that it is ready. */
    private String start(List<String> options, String... arguments) throws IOException {
        Process process = ChildJvm.start(List.of(), options, ConnectedMain.class, arguments);
        started.add(process);
        String line = process.inputReader().readLine();
        assertNotNull(line, "no line from " + List.of(arguments));
        return line;
    }

    /** Asks from this JVM. */
    private static String ask(int status, String... numbers) throws IOException {
        List<String> command = new ArrayList<>(List.of("connections"));
        command.addAll(List.of(numbers));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        assertEquals(status, Doctor.run(command, new PrintStream(said, true, StandardCharsets.UTF_8), jar()),
                said::toString);
        return said.toString(StandardCharsets.UTF_8);
    }

    /** Asks by the agent's jar, as an operator does. */
    private static Program ask(List<String> arguments) throws IOException {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(java.toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "-jar", jar().toString(), "connections"));
        command.addAll(arguments);
        return Program.start(command.toArray(String[]::new));
    }

    /** The connections of a process, by their addresses as the other end has them. */
    private static Map<String, JsonObject> byPeer(JsonElement process) {
        Map<String, JsonObject> all = new HashMap<>();
        for (JsonElement one : process.getAsJsonObject().getAsJsonArray("connections")) {
            JsonObject connection = one.getAsJsonObject();
            assertEquals("open", connection.get("state").getAsString(), connection::toString);
            all.put(connection.get("remote").getAsString() + " " + connection.get("local").getAsString(), connection);
        }
        return all;
    }

    private static long count(Map<String, JsonObject> connections, String transport) {
        return connections.values().stream().filter(c -> c.get("transport").getAsString().equals(transport)).count();
    }

    @Test
    void threeProcessesTellOfAHundredConnections() throws Exception {
        String port = start(GRANTED);
        assertEquals("ready", start(GRANTED, port, "sharedmemory", "" + SHARED, "tcp", "" + TCP));
        assertEquals("ready", start(List.of("-javaagent:" + jar()), port, "plain", "" + PLAIN));
        List<Long> numbers = started.stream().map(Process::pid).toList();
        List<Long> found = new LibraryProcesses(Path.of("/proc"), null).found();
        assertTrue(found.containsAll(numbers), () -> found + " instead of " + numbers);
        List<String> arguments = new ArrayList<>(List.of("--json"));
        numbers.forEach(number -> arguments.add(number.toString()));
        try (Program doctor = ask(arguments)) {
            var processes = JsonParser.parseString(doctor.awaitSuccess()).getAsJsonObject().getAsJsonArray("processes");
            Map<String, JsonObject> server = byPeer(processes.get(0));
            assertEquals(List.of(SHARED + PLAIN, TCP),
                    List.of((int) count(server, "sharedmemory"), (int) count(server, "tcp")), doctor::output);
            Map<String, JsonObject> clients = byPeer(processes.get(1));
            assertEquals(SHARED + TCP, clients.size());
            clients.putAll(byPeer(processes.get(2)));
            assertEquals(SHARED + TCP + PLAIN, clients.size());
            for (JsonObject client : clients.values()) {
                assertAgree(client, server.get(client.get("local").getAsString() + " "
                        + client.get("remote").getAsString()));
            }
            assertEquals(ConnectedMain.class.getName(),
                    processes.get(2).getAsJsonObject().get("program").getAsString());
        }
        String text = ask(0, numbers.get(2).toString());
        assertTrue(text.startsWith("process " + numbers.get(2) + ", " + ConnectedMain.class.getName() + ", " + PLAIN
                + " connections\n  sharedmemory  open     127.0.0.1:"), text);
        assertTrue(text.contains(" unread:0, it is the first choice\n"), text);
    }

    private static long number(JsonObject connection, String name) {
        return connection.get(name).getAsLong();
    }

    private static void assertAgree(JsonObject client, JsonObject server) {
        assertNotNull(server, client::toString);
        long bytes = number(client, "sent");
        assertTrue(bytes > 0 && bytes <= SHARED, client::toString);
        for (JsonObject end : List.of(client, server)) {
            assertEquals(bytes, number(end, "sent"), end::toString);
            assertEquals(bytes, number(end, "received"), end::toString);
            assertEquals(0, number(end, "unread"), end::toString);
            assertTrue(number(end, "age") >= 0, end::toString);
        }
        assertEquals("the peer connected over it", server.get("reason").getAsString());
        if (client.get("transport").getAsString().equals("tcp")) {
            assertEquals("tcp", server.get("transport").getAsString());
            assertTrue(client.get("reason").getAsString().contains("the socket"), client::toString);
            return;
        }
        for (JsonObject end : List.of(client, server)) {
            assertEquals("CREDIT_RING", end.get("kind").getAsString());
            assertTrue(number(end, "outstanding") < 8, end::toString); // the device has not been asked for all
            assertTrue(number(end, "window") > 0 && number(end, "registered") > 0 && number(end, "idle") >= 0,
                    end::toString);
        }
    }

    /** The doctor's question would end a process that is no JVM. */
    @Test
    void aProcessThatMayNotBeAskedIsLeftAlone() throws Exception {
        Process other = new ProcessBuilder("sleep", "100").start();
        started.add(other);
        assertEquals(List.of(
                "process " + other.pid() + " does not tell: it has used no socket or endpoint of this library",
                "process 999999999 does not tell: there is no such process"),
                ask(1, "" + other.pid(), "999999999").lines().toList());
        assertTrue(other.isAlive());
        List<String> prefix = List.of("setpriv", "--reuid=" + USER, "--regid=" + USER, "--clear-groups");
        if (!DoctorElsewhereTest.canRun("aProcessThatMayNotBeAskedIsLeftAlone", prefix)) {
            return;
        }
        String own = "" + ProcessHandle.current().pid();
        String text = ChildJvm.run(prefix, GRANTED, DoctorMain.class, "connections", own);
        assertTrue(text.endsWith("and only that user may ask it: setpriv --reuid=0 --regid=0 --clear-groups java -jar "
                + "... connections " + own + "\n"), text);
    }
}
