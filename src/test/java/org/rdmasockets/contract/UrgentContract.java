package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Urgent data: as TCP has it, or a sign of life in its place, as pools that probe with it expect. */
abstract class UrgentContract extends SocketContract {
    /** More than would fit, if each took room that the peer does not give back. */
    private static final int PROBES = 2_000;

    @Test
    void urgentDataComesInlineWhereThatIsAskedFor() throws IOException {
        needs(Ability.URGENT_DATA);
        SocketPair pair = pair();
        pair.server().setOOBInline(true);
        assertTrue(pair.server().getOOBInline());
        pair.client().sendUrgentData(300);
        assertEquals(300 & 0xff, pair.server().getInputStream().read());
        pair.server().setOOBInline(false);
        assertFalse(pair.server().getOOBInline());
    }

    @Test
    void urgentDataIsNotReadWhereThereIsNone() throws IOException {
        Assumptions.assumeTrue(fixture().whyNot(Ability.URGENT_DATA).isPresent(), "there is urgent data");
        SocketPair pair = pair();
        for (Socket socket : new Socket[] {pair.client(), pair.server()}) {
            socket.setOOBInline(false);
            assertRefused(SocketException.class, "Urgent data not supported", () -> socket.setOOBInline(true));
            assertFalse(socket.getOOBInline() || socket.isClosed());
        }
        pair.client().getOutputStream().write(7);
        assertEquals(7, pair.server().getInputStream().read());
    }

    @Test
    void probesWithUrgentDataLeaveTheStreamAsItIs() throws IOException {
        SocketPair pair = pair();
        assertFalse(pair.server().getOOBInline());
        OutputStream out = pair.client().getOutputStream();
        for (int i = 0; i < PROBES; i++) {
            pair.client().sendUrgentData(1);
            out.write(2); // TCP has one urgent byte on its way, and an older one that is not passed becomes data
            assertEquals(2, pair.server().getInputStream().read());
        }
        pair.server().sendUrgentData(0xff);
        pair.server().getOutputStream().write(3);
        assertEquals(3, pair.client().getInputStream().read());
    }

    @Test
    void aProbeTellsThatThePeerHasGone() throws Exception {
        SocketPair pair = pair();
        pair.server().close();
        assertEquals(-1, pair.client().getInputStream().read());
        pair.client().sendUrgentData(1); // as the first write
        Await.until("a probe to fail", () -> {
            try {
                pair.client().sendUrgentData(1);
                return false;
            } catch (IOException e) {
                return true;
            }
        });
        assertFalse(pair.client().isClosed());
    }

    @Test
    void whoCannotWriteCannotProbe() throws IOException {
        assertRefused(SocketException.class, "Not connected", () -> socket().sendUrgentData(1));
        Socket half = pair().client();
        half.shutdownOutput();
        IOException e = assertThrows(IOException.class, () -> half.sendUrgentData(1));
        assertEquals("Broken pipe", e.getMessage());
        assertFalse(half.isClosed());
    }

    @Test
    void closedSocketsSendNone() throws IOException {
        Socket socket = pair().client();
        socket.close();
        assertRefused(SocketException.class, "Socket closed", () -> socket.sendUrgentData(1));
        assertRefused(SocketException.class, "Socket is closed", () -> socket.setOOBInline(true));
        assertRefused(SocketException.class, "Socket is closed", socket::getOOBInline);
    }
}
