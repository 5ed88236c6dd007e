package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Urgent data: as TCP has it, or refused in a way that programs expect. */
abstract class UrgentTheme extends SocketTheme {
    @Test
    void urgentDataComesInlineWhereThatIsAskedFor() throws IOException {
        needs(Ability.URGENT_DATA);
        SocketPair pair = pair();
        pair.server().setOOBInline(true);
        assertTrue(pair.server().getOOBInline());
        pair.client().sendUrgentData(300);
        assertEquals(300 & 0xff, pair.server().getInputStream().read());
    }

    @Test
    void urgentDataIsRefusedWhereThereIsNone() throws IOException {
        Assumptions.assumeTrue(fixture().whyNot(Ability.URGENT_DATA).isPresent(), "there is urgent data");
        SocketPair pair = pair();
        for (Socket socket : new Socket[] {pair.client(), pair.server(), socket()}) {
            assertFalse(socket.getOOBInline());
            socket.setOOBInline(false);
            assertRefused(SocketException.class, "Urgent data not supported", () -> socket.setOOBInline(true));
            assertRefused(SocketException.class, "Urgent data not supported", () -> socket.sendUrgentData(1));
            assertFalse(socket.getOOBInline() || socket.isClosed());
        }
        pair.client().getOutputStream().write(7);
        assertEquals(7, pair.server().getInputStream().read());
    }

    @Test
    void withoutInlineUrgentDataNeverReachesTheReader() throws IOException {
        SocketPair pair = pair();
        try {
            pair.client().sendUrgentData(1);
        } catch (SocketException e) {
            assertEquals("Urgent data not supported", e.getMessage());
        }
        pair.client().getOutputStream().write(2);
        assertEquals(2, pair.server().getInputStream().read());
    }

    @Test
    void closedSocketsSendNone() throws IOException {
        Socket socket = pair().client();
        socket.close();
        assertRefused(SocketException.class, "", () -> socket.sendUrgentData(1));
        assertRefused(SocketException.class, "Socket is closed", () -> socket.setOOBInline(true));
        assertRefused(SocketException.class, "Socket is closed", socket::getOOBInline);
    }
}
