package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bytes of rsockets' datagrams, as rsocket.c has them. */
class DatagramWireTest {
    private static final InetAddress V4 = InetAddress.ofLiteral("10.77.0.1");
    private static final InetAddress V6 = InetAddress.ofLiteral("fd77::1");
    private static final MemorySegment DATA = MemorySegment.ofArray(new byte[] {1, 2, 3});
    private static final String OVER_UDP = "55555555" + "04001000" + "00123456" + "0a4d0001" + "010203";
    private static final String OVER_UDP6 = "55555555" + "06001c00" + "00123456" + "fd770000000000000000000000000001"
            + "010203";
    /** IPv4 headers stand in the second half of the 40 bytes. */
    private static final String FROM_V4 = "00".repeat(20) + "45".repeat(12) + "0a4d0001" + "0a4d0002";
    private static final String OVER_PAIR = "0408" + "1c06" + "0a4d0001" + "010203";
    private static final String FROM_V6 = "60".repeat(8) + "fd770000000000000000000000000001" + "00".repeat(16);
    private static final String OVER_PAIR6 = "0618" + "1c06" + "00000000" + "fd770000000000000000000000000001" + "0102";

    private static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    private static InetSocketAddress source(String packet, InetAddress own) {
        return DatagramWire.source(MemorySegment.ofArray(bytes(packet)), own);
    }

    @Test
    void messagesOverUdpAreLaidOutAsInC() {
        assertArrayEquals(bytes(OVER_UDP), DatagramWire.message(DatagramWire.DATA, 0x123456, V4, DATA));
        assertArrayEquals(bytes(OVER_UDP6), DatagramWire.message(DatagramWire.DATA, 0x123456, V6, DATA));
        assertArrayEquals(bytes("5555555504071000001234560a4d0001"), DatagramWire.message(DatagramWire.CONTROL,
                0x123456, V4, MemorySegment.ofArray(new byte[0])));
    }

    @Test
    void messagesOverUdpAreRead() {
        DatagramWire.Message message = DatagramWire.read(bytes(OVER_UDP), V4);
        assertEquals(DatagramWire.DATA, message.operation());
        assertEquals(0x123456, message.queuePair());
        assertEquals(16, message.headerBytes());
        assertTrue(message.isFrom(V4));
        assertFalse(message.isFrom(InetAddress.ofLiteral("10.77.0.2")));
        assertEquals(28, DatagramWire.read(bytes(OVER_UDP6), V6).headerBytes());
        assertNotNull(DatagramWire.read(bytes(OVER_UDP6.replace("fd77", "0000")), V6), "C shifts the address");
    }

    /** Tag, version, operation, length, the zero, numbers of the device's own, and one of more than 24 bits. */
    @ParameterizedTest
    @ValueSource(strings = {"5555555404001000001234560a4d0001", "5555555506001000001234560a4d0001",
            "5555555504011000001234560a4d0001", "5555555504001100001234560a4d0001", "5555555504001001001234560a4d0001",
            "5555555504001000000000000a4d0001", "5555555504001000000000010a4d0001", "5555555504001000010000000a4d0001",
            "55555555040010008012345670a4d001", "555555550407100000123456 0a4d0001 01"})
    void whatIsNotExactlyAMessageIsNone(String hex) {
        assertNull(DatagramWire.read(bytes(hex.replace(" ", "")), V4));
    }

    @Test
    void whatIsCutShortIsNone() {
        for (int length = 0; length < 16; length++) {
            assertNull(DatagramWire.read(Arrays.copyOf(bytes(OVER_UDP), length), V4), "of " + length + " bytes");
        }
        assertNull(DatagramWire.read(bytes(OVER_UDP), V6), "another family than the sender's");
        assertFalse(DatagramWire.isTagged(bytes("555555")));
    }

    @Test
    void headersOverQueuePairsAreLaidOutAsInC() {
        byte[] packet = new byte[11];
        DatagramWire.writeHeader(MemorySegment.ofArray(packet), new InetSocketAddress(V4, 7174));
        assertArrayEquals(Arrays.copyOf(bytes(OVER_PAIR), 8), Arrays.copyOf(packet, 8));
        byte[] packet6 = new byte[26];
        Arrays.fill(packet6, (byte) -1);
        DatagramWire.writeHeader(MemorySegment.ofArray(packet6), new InetSocketAddress(V6, 7174));
        assertArrayEquals(Arrays.copyOf(bytes(OVER_PAIR6), 24), Arrays.copyOf(packet6, 24));
    }

    @Test
    void headersOverQueuePairsNameWhoSendsThem() {
        assertEquals(new InetSocketAddress(V4, 7174), source(FROM_V4 + OVER_PAIR, V4));
        assertEquals(new InetSocketAddress(V6, 7174), source(FROM_V6 + OVER_PAIR6, V6));
        assertNull(source(FROM_V4.replace("0a4d0001", "0a4d0003") + OVER_PAIR, V4), "sent by another host");
        assertNull(source(FROM_V4 + OVER_PAIR6, V4), "of another family");
        assertNull(source(FROM_V4 + OVER_PAIR.replace("0408", "0409"), V4), "of another length");
        assertNull(source(FROM_V4 + OVER_PAIR.replace("1c06", "0000"), V4), "from port 0");
        assertNull(source(FROM_V4 + OVER_PAIR.substring(0, 14), V4), "cut short");
        assertNull(source(FROM_V4, V4), "nothing behind the routing header");
    }
}
