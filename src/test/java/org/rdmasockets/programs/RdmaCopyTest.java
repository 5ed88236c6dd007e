package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/RdmaCopyServer} and {@code examples/RdmaCopyClient}. Parity: rdma-example. */
@Execution(ExecutionMode.CONCURRENT)
class RdmaCopyTest {
    private static final String TEXT = "a text of " + "many ".repeat(1000) + "words";

    /** Where the two meet. */
    Place place() {
        return Place.here().orSkip();
    }

    /** rdma-example: the whole run prints SUCCESS after write, read and compare. */
    @Test
    void theWholeRunPrintsSuccess() throws Exception {
        Place place = place();
        try (Program server = place.example("RdmaCopyServer", "-a", place.host(), "-p", "0")) {
            String port = server.awaitLine("listening on port ");
            try (Program client = place.example("RdmaCopyClient", "-a", place.host(), "-p", port, "-s", TEXT)) {
                assertTrue(client.awaitSuccess().contains("SUCCESS"), client::toString);
            }
            server.awaitSuccess();
            server.awaitLine("lent " + TEXT.length() + " bytes");
            server.awaitLine("the client has disconnected");
        }
    }

    @Test
    void withoutAServerTheErrorSaysSo() throws Exception {
        Place place = place();
        try (Program client = place.example("RdmaCopyClient", "-a", place.host(), "-p",
                place.freePorts(1).getFirst(), "-s", TEXT)) {
            assertEquals(1, client.awaitEnd(), client::toString);
            assertTrue(client.output().contains("start the server there")
                    || client.output().contains("ECONNREFUSED"), client::toString);
        }
    }

    /** The C program demands a text as well. */
    @Test
    void withoutATextThereIsUsage() throws Exception {
        Place place = place();
        try (Program client = place.example("RdmaCopyClient", "-a", place.host())) {
            assertEquals(1, client.awaitEnd(), client::toString);
            client.awaitLine("usage: RdmaCopyClient");
        }
    }
}
