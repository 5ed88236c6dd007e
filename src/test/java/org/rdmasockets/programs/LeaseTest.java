package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/Lease}. Parity: async-rdma's lease example. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseTest {
    /** Where the two meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void memoryIsSharedBorrowedHandedOverAndExpires() throws Exception {
        Place place = place();
        try (Program server = place.example("Lease", "server", place.host(), "0")) {
            String port = server.awaitLine("listening on port ");
            try (Program client = place.example("Lease", place.host(), port)) {
                client.awaitSuccess();
                assertTrue(client.awaitLine("shared for ").endsWith(": read me while you may"), client::toString);
                client.awaitLine("written to memory of the server");
                assertTrue(client.awaitLine("refused: ").contains("expired"), client::toString);
            }
            server.awaitSuccess();
            server.awaitLine("handed over: written by the client");
        }
    }
}
