package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.interop.Program;

/** {@code examples/Rping} against itself; against the C program it is {@code RpingInteropTest}. */
@Execution(ExecutionMode.CONCURRENT)
class RpingTest {
    /** Where the two meet. */
    Place place() {
        return Place.here().orSkip();
    }

    /** How many pings. */
    int rounds() {
        return 10_000;
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {23, 64, 65_535})
    void pingsComeBackAsTheyWereSent(int bytes) throws Exception {
        Place place = place();
        int rounds = bytes > 64 ? rounds() / 10 : rounds();
        try (Program server = server(place)) {
            try (Program client = client(place, server, "-V", "-S", "" + bytes, "-C", "" + rounds)) {
                client.awaitSuccess();
                client.awaitLine(rounds + " pings, all as they were sent");
            }
            server.awaitSuccess();
            server.awaitLine("the client has disconnected after " + rounds + " pings");
        }
    }

    /** The texts are those of the C program. */
    @Test
    void bothPrintWhatTheyGet() throws Exception {
        Place place = place();
        try (Program server = server(place, "-v")) {
            try (Program client = client(place, server, "-v", "-S", "30", "-C", "60")) {
                client.awaitSuccess();
                assertEquals("rdma-ping-0: ABCDEFGHIJKLMNOP", client.awaitLine("ping data: "));
                client.awaitLine("ping data: rdma-ping-57: zABCDEFGHIJKLMN");
                client.awaitLine("ping data: rdma-ping-58: ABCDEFGHIJKLMNO");
            }
            server.awaitSuccess();
            server.awaitLine("server ping data: rdma-ping-59: BCDEFGHIJKLMNOP");
        }
    }

    /** Nothing hangs: parity, traps, "peer dies while parked". */
    @Test
    void aClientThatIsKilledEndsTheServer() throws Exception {
        Place place = place();
        try (Program server = server(place, "-v"); Program client = client(place, server)) {
            server.awaitLine("server ping data: rdma-ping-3: ");
            client.kill();
            server.awaitEnd();
            assertTrue(Pattern.compile("the client has disconnected|the peer has ended|failed: ")
                    .matcher(server.output()).find(), server::toString);
        }
    }

    private static Program server(Place place, String... more) throws Exception {
        return place.example("Rping", arguments(more, "-s", "-a", place.host(), "-p", "0"));
    }

    private static Program client(Place place, Program server, String... more) throws Exception {
        return place.example("Rping", arguments(more, "-c", "-a", place.host(), "-p",
                server.awaitLine("listening on port ")));
    }

    private static String[] arguments(String[] more, String... first) {
        String[] all = Arrays.copyOf(first, first.length + more.length);
        System.arraycopy(more, 0, all, first.length, more.length);
        return all;
    }
}
