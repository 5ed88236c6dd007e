package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** The way into verbs. */
class RdmaDevicesTest {
    @Test
    void transportsOfRdmaHaveVerbs() {
        assertEquals("sharedmemory", RdmaDevices.verbs(Transport.SHARED_MEMORY).name());
        assertEquals("ibverbs", RdmaDevices.verbs(new Transport("ibverbs", "for some reason")).name());
    }

    @Test
    void othersHaveNone() {
        assertThrows(IllegalArgumentException.class, () -> RdmaDevices.verbs(Transport.TCP));
        assertThrows(IllegalArgumentException.class, () -> RdmaDevices.verbs(Transport.AUTO));
    }
}
