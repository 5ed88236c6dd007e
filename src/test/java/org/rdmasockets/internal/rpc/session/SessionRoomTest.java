package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    /** Of long packets fewer are on their way, not of short ones: a receiver's socket and a ring have room in bytes. */
    @ParameterizedTest
    @CsvSource({PAYLOAD + ", 8000000, 64", Packet.MOST_PAYLOAD + ", 8000000, 12", Packet.MOST_PAYLOAD + ", 100, 64"})
    void whatIsOnItsWayIsBoundedInBytesToo(int payload, int messageBytes, int expected) {
        Session session = new Session(1, 2, payload, 1 << 24, 1 << 24, 0);
        for (int i = 0; i < 8_000_000 / messageBytes; i++) {
            session.send(new byte[messageBytes]);
        }
        Packet packet = acknowledgement();
        ByteBuffer buffer = ByteBuffer.allocate(Packet.HEADER_BYTES + payload);
        int most = 0;
        for (int round = 0; round < 20; round++) {
            int sent = send(session, buffer, round);
            most = Math.max(most, sent);
            packet.acknowledged += sent;
            session.receive(packet, round);
        }
        assertEquals(expected, most);
    }

    /** Also where something else bounded them before: the congestion window has not grown meanwhile. */
    @ParameterizedTest
    @CsvSource({PAYLOAD + ", 33", Packet.MOST_PAYLOAD + ", 10"})
    void aLossHalvesWhatIsOnItsWay(int payload, int most) {
        Session session = new Session(1, 2, payload, 1 << 24, 1 << 24, 0);
        session.send(new byte[8_000_000]);
        Packet packet = acknowledgement();
        ByteBuffer buffer = ByteBuffer.allocate(Packet.HEADER_BYTES + payload);
        long sent = 0;
        for (int round = 0; round < 20; round++) {
            packet.acknowledged = sent;
            session.receive(packet, round);
            sent += send(session, buffer, round);
        }
        packet.selective = 0b111; // the first one is lost
        session.receive(packet, 20);
        packet.acknowledged = sent;
        packet.selective = 0;
        session.receive(packet, 21);
        int further = send(session, buffer, 21);
        assertTrue(further <= most, further + " packets");
    }

    private static Packet acknowledgement() {
        Packet packet = new Packet();
        packet.kind = Packet.ACK;
        packet.room = Session.WINDOW;
        return packet;
    }

    /** Sends what may go, and counts it. */
    private static int send(Session session, ByteBuffer buffer, long now) {
        int sent = 0;
        while (session.next(buffer, now)) {
            sent++;
        }
        return sent;
    }
}
