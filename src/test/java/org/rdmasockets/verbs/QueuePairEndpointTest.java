package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The form in which an endpoint travels, and what a hostile peer may say. */
class QueuePairEndpointTest {
    private static final Gid GID = new Gid(HexFormat.of().parseHex("00000000000000000000ffff0a4d0001"));
    private static final QueuePairEndpoint ENDPOINT = new QueuePairEndpoint(0x123456, 0xabcdef, GID, 0xfffe, 4096, 200);

    @Test
    void theFormIsFixed() {
        assertEquals("5251" + "01" + "c8" + "00123456" + "00abcdef" + "fffe" + "1000"
                + "00000000000000000000ffff0a4d0001", HexFormat.of().formatHex(ENDPOINT.encode()));
        assertEquals(ENDPOINT, QueuePairEndpoint.decode(ENDPOINT.encode()));
    }

    @Test
    void whatCannotBeIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1 << 24, 0, GID, 0, 1024, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(-1, 0, GID, 0, 1024, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1, 1 << 24, GID, 0, 1024, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1, 0, GID, 65_536, 1024, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1, 0, GID, -1, 1024, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1, 0, GID, 0, 1500, 1));
        assertThrows(IllegalArgumentException.class, () -> new QueuePairEndpoint(1, 0, GID, 0, 1024, 256));
    }

    @Test
    void otherBytesAreNoEndpoint() {
        byte[] good = ENDPOINT.encode();
        assertThrows(IllegalArgumentException.class, () -> QueuePairEndpoint.decode(Arrays.copyOf(good, 31)));
        assertThrows(IllegalArgumentException.class, () -> QueuePairEndpoint.decode(Arrays.copyOf(good, 33)));
        for (int i = 0; i < 3; i++) {
            byte[] bad = good.clone();
            bad[i]++;
            assertThrows(IllegalArgumentException.class, () -> QueuePairEndpoint.decode(bad), "byte " + i);
        }
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            byte[] any = good.clone();
            any[random.nextInt(any.length)] = (byte) random.nextInt();
            any[random.nextInt(any.length)] = (byte) random.nextInt();
            try {
                assertArrayEquals(any, QueuePairEndpoint.decode(any).encode(), "taken as it is");
            } catch (IllegalArgumentException e) {
                assertTrue(e.getMessage().length() > 10, "refused with a reason");
            }
        }
    }

    @Test
    void anExchangeTellsBothSides() throws IOException {
        QueuePairEndpoint other = new QueuePairEndpoint(1, 2, GID, 0, 256, 0);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertEquals(other, ENDPOINT.exchange(new ByteArrayInputStream(other.encode()), out));
        assertArrayEquals(ENDPOINT.encode(), out.toByteArray());
    }

    @Test
    void aPeerThatEndsOrTalksOtherwiseIsAnError() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] truncated = Arrays.copyOf(ENDPOINT.encode(), 31);
        assertThrows(EOFException.class, () -> ENDPOINT.exchange(new ByteArrayInputStream(truncated), out));
        byte[] http = Arrays.copyOf("HTTP/1.1 400 Bad Request".getBytes(StandardCharsets.US_ASCII), 32);
        IOException e = assertThrows(IOException.class,
                () -> ENDPOINT.exchange(new ByteArrayInputStream(http), out));
        assertTrue(e.getMessage().contains("something else"), e::getMessage);
    }
}
