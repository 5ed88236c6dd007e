package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Credits as 16 bits of a number that only grows, and the reserve for control messages. */
class SendWindowTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 16, 112, 384, 40_000, 65_534})
    void limitsWrapAroundForEver(int credits) {
        for (boolean retry : new boolean[] {true, false}) {
            SendWindow window = new SendWindow(retry);
            window.start(credits);
            Random random = new Random(credits);
            long sent = 0;
            long read = 0;
            while (sent < 200_000) {
                assertTrue(window.isOpen() || sent > read, "closed with nothing on its way");
                while (window.isOpen() && random.nextInt(10) > 0) {
                    window.dataSent();
                    sent++;
                    assertTrue(sent <= read + credits, "beyond the limit");
                }
                read += random.nextLong(sent - read + 1);
                // C computes this in int: bit 16 may be set.
                assertNull(window.raise((int) (read & 0xFFFF) + credits));
            }
        }
    }

    @Test
    void limitMayStayAndMayNotGoBack() {
        SendWindow window = new SendWindow(true);
        window.start(100);
        assertNull(window.raise(100));
        assertNotNull(window.raise(99));
        assertNotNull(window.raise(0));
        assertNull(window.raise(101));
        assertNotNull(window.raise(100));
    }

    @Test
    void limitIsAtMost65534Ahead() {
        SendWindow window = new SendWindow(true);
        window.start(1);
        assertNotNull(window.raise(65535));
        assertNull(window.raise(65534));
        window.dataSent();
        assertNull(window.raise(65535));
        assertNotNull(window.raise(65536));
        window.dataSent();
        assertNull(window.raise(65536));
    }

    @Test
    void updatesAreHeldBackOnIwarpUntilThePeerShowsThatItTookThem() {
        SendWindow window = new SendWindow(false);
        window.start(384);
        assertEquals(96 - 4, updates(window));
        window.confirm(112);
        assertFalse(window.allowsUpdate(), "the peer may have sent these without looking");
        window.confirm(113);
        assertTrue(window.allowsUpdate());
    }

    /** Sends updates until they are held back. */
    private static int updates(SendWindow window) {
        int allowed = 0;
        while (window.allowsUpdate() && allowed < 1000) {
            window.controlSent(112);
            allowed++;
        }
        return allowed;
    }

    @Test
    void dataThatThePeerReadShowsThatItTookWhatCameBefore() {
        SendWindow window = new SendWindow(false);
        window.start(64);
        assertEquals(16 - 4, updates(window));
        for (int i = 0; i < 32; i++) {
            window.dataSent();
        }
        window.raise(64);
        window.confirm(0);
        assertFalse(window.allowsUpdate());
        window.raise(64 + 1);
        window.confirm(0);
        assertTrue(window.allowsUpdate());
    }

    @Test
    void updatesAreNotHeldBackWhereTheDeviceTriesAgain() {
        SendWindow window = new SendWindow(true);
        window.start(16);
        for (int i = 0; i < 1000; i++) {
            assertTrue(window.allowsUpdate());
            window.controlSent(112);
        }
    }
}
