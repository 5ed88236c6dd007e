package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** A peer that sends more than it was told that there is room for fills no memory. */
class SessionRoomTest {
    private static final int PAYLOAD = 1000;
    private static final int SENT = 10_000;

    @Test
    void whatIsBeyondTheRoomIsDropped() {
        Session session = new Session(1, 2, PAYLOAD, PAYLOAD, 10 * PAYLOAD, 0);
        Packet packet = new Packet();
        packet.kind = Packet.DATA;
        packet.receiver = 1;
        packet.sender = 2;
        packet.flags = Packet.FIRST | Packet.LAST;
        packet.room = Session.WINDOW;
        for (int i = 0; i < SENT; i++) {
            packet.number = i;
            packet.payload = ByteBuffer.allocate(PAYLOAD);
            session.receive(packet, i);
        }
        int taken = 0;
        while (session.poll() != null) {
            taken++;
        }
        assertEquals(Session.WINDOW, taken);
    }
}
