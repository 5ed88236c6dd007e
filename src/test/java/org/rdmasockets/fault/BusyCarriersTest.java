package org.rdmasockets.fault;

import org.junit.jupiter.api.Test;
import org.rdmasockets.interop.Program;

/** Nothing that must go on waits for a free carrier of virtual threads. */
class BusyCarriersTest {
    @Test
    void aListenerAcceptsAndWhatIsDroppedIsReleased() throws Exception {
        try (Program busy = Program.java(BusyCarriersMain.class.getName())) {
            busy.awaitLine("answered 1");
            busy.awaitLine("released");
            busy.awaitLine("closed");
            busy.awaitSuccess();
        }
    }
}
