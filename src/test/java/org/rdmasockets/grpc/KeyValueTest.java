package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;

/** The example {@code KeyValue}, a server and its clients in processes of their own. */
class KeyValueTest {
    @Test
    void keepsValuesForOtherProcesses() throws Exception {
        try (Program server = Program.java("KeyValue", "0")) {
            String port = server.awaitLine("port ").strip();
            assertEquals("value: none", ask(port, "put", "apple", "red"));
            assertEquals("value: red", ask(port, "put", "apple", "green"));
            assertEquals("value: none", ask(port, "put", "apricot", "orange"));
            assertEquals("value: none", ask(port, "put", "banana", "yellow"));
            assertEquals("apple = green\napricot = orange", ask(port, "scan", "ap"));
            assertEquals("not changed: green", ask(port, "set", "apple", "red", "blue"));
            assertEquals("changed", ask(port, "set", "apple", "green", "blue"));
            assertEquals("value: blue", ask(port, "get", "apple"));
            assertEquals("value: blue", ask(port, "delete", "apple"));
            assertEquals("value: none", ask(port, "get", "apple"));
        }
    }

    /** The words that a client prints before it tells the transport. */
    private static String ask(String port, String... words) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("127.0.0.1", port));
        arguments.addAll(List.of(words));
        try (Program client = Program.java(List.of("--sun-misc-unsafe-memory-access=allow"), "KeyValue",
                arguments.toArray(String[]::new))) {
            assertEquals(0, client.awaitEnd(), client::output);
            String output = client.output().strip();
            int last = output.lastIndexOf('\n');
            String transport = output.substring(last + 1);
            assertTrue(transport.contains(Providers.sharedMemory().unavailability().isEmpty() ? "sharedmemory" : "tcp"),
                    transport);
            return output.substring(0, last).strip();
        }
    }
}
