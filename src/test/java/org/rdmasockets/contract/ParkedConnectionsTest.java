package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.rdmasockets.Transport;

/** Bystanders answer, on the JDK's own sockets first; one whose connection has ended is noticed. */
class ParkedConnectionsTest {
    @Test
    void ofJavaNetAnswer() throws Exception {
        checkBoth(new TcpFixture());
    }

    @Test
    void overSharedMemoryAnswer() throws Exception {
        checkBoth(new RdmaFixture(Transport.SHARED_MEMORY));
    }

    private static void checkBoth(SocketFixture fixture) throws Exception {
        try (ParkedConnections parked = new ParkedConnections(fixture, false)) {
            parked.checkAnswers();
        }
        try (ParkedConnections ring = new ParkedConnections(fixture, true)) {
            Await.until("two rounds of the ring", () -> ring.passed() > 2 * ParkedConnections.COUNT);
            ring.checkAnswers();
        }
    }

    @Test
    void oneThatHasEndedIsNoticed() throws Exception {
        ParkedConnections closed = new ParkedConnections(new TcpFixture(), false);
        closed.close();
        assertThrows(Exception.class, closed::checkAnswers);
    }
}
