package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/HttpComponents}: an HTTP/1.1 server and client of Apache over the socket factories. */
@Execution(ExecutionMode.CONCURRENT)
class HttpComponentsTest {
    private static final int LONG = 1_000_000;

    @TempDir
    private Path directory;

    /** Where server and client meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void pagesAreThoseOfTcp() throws Exception {
        Place place = place();
        byte[] page = new byte[LONG];
        new Random(LONG).nextBytes(page);
        Files.write(directory.resolve("long"), page);
        Files.writeString(directory.resolve("short"), "short\n");
        List<String> fetched = fetch(place);
        assertTrue(fetched.size() == 8, fetched::toString);
        assertEquals("HTTP/1.1 200, " + LONG + " bytes, CRC " + crc(page) + ": /long", fetched.get(0));
        assertEquals("posted, the same came back", fetched.get(1));
        assertTrue(fetched.get(4).startsWith("HTTP/1.1 404, "), fetched::toString);
        assertTrue(fetched.get(6).startsWith("HTTP/1.1 404, "), fetched::toString);
        assertEquals(fetch(place.tcp()), fetched);
    }

    private static long crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return crc.getValue();
    }

    /** The output of the client; the log shows that all went over one connection. */
    private List<String> fetch(Place place) throws Exception {
        try (Program server = Program.java(place.options(), "HttpComponents", "server", "0", directory.toString())) {
            String root = "http://" + place.host() + ":" + server.awaitLine("port ") + "/";
            List<String> arguments = new ArrayList<>();
            for (String page : List.of("long", "short", "none", "%2e%2e/secret")) {
                arguments.add(root + page);
            }
            List<String> options =
                    place.options("-Dorg.slf4j.simpleLogger.log.org.rdmasockets.internal.selection.Connector=debug");
            try (Program client = Program.java(options, "HttpComponents", arguments.toArray(String[]::new))) {
                String output = client.awaitSuccess();
                assertEquals(1, output.lines().filter(line -> line.contains(" connected over "
                        + place.transport().name())).count(), output);
                return output.lines().filter(line -> line.startsWith("HTTP") || line.startsWith("posted")).toList();
            }
        }
    }
}
