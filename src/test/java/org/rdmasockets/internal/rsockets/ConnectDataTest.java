package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The private data, as C sends it and as no peer should. */
class ConnectDataTest {
    /** The private data of C with its defaults; addresses and keys are made up. */
    private static final String OF_C = "0102018000000000" + "00007f8812345000" + "0000047000000002"
            + "00007f8812346000" + "0000054700010000";

    private static byte[] ofC() {
        return HexFormat.of().parseHex(OF_C);
    }

    @Test
    void readsWhatCSends() throws SocketException {
        ConnectData data = ConnectData.decode(ofC());
        assertEquals(new ConnectData(false, false, 384, 0x7f8812345000L, 0x470, 2, 0x7f8812346000L, 0x547,
                65536, 0, FlowKind.CREDIT_RING, 0), data);
        assertArrayEquals(ofC(), data.encode());
    }

    @Test
    void paddingBehindDoesNotMatter() throws SocketException {
        assertEquals(ConnectData.decode(ofC()), ConnectData.decode(Arrays.copyOf(ofC(), 196)));
    }

    @Test
    void reservedBytesAndUnknownFlagsDoNotMatter() throws SocketException {
        byte[] bytes = ofC();
        Arrays.fill(bytes, 4, 7, (byte) 0xFF);
        bytes[1] = (byte) 0xFA;
        assertEquals(ConnectData.decode(ofC()), ConnectData.decode(bytes));
    }

    @Test
    void byteFourProposesAnotherFlowAndItsSizeFollows() throws SocketException {
        ConnectData plain = ConnectData.decode(ofC());
        ConnectData ring = new ConnectData(false, true, 112, plain.tableAddress(), 1, 2, plain.chunkAddress(), 1, 65536,
                0, FlowKind.READ_RING, 1L << 40);
        byte[] bytes = ring.encode();
        assertEquals(48, bytes.length);
        assertEquals(2, bytes[4]);
        assertEquals("0000010000000000", HexFormat.of().formatHex(bytes, 40, 48));
        assertEquals(ring, ConnectData.decode(Arrays.copyOf(bytes, 56)));
        bytes[4] = 1;
        assertEquals(FlowKind.SEND_RECEIVE, ConnectData.decode(bytes).flow());
        bytes[4] = 3;
        assertEquals(FlowKind.CREDIT_RING, ConnectData.decode(bytes).flow());
    }

    @ParameterizedTest
    @CsvSource({"1, 0000000000000000, size of 0", "2, 0000000000000000, size of 0", "2, 8000000000000000, size of 9223",
        "1, ffffffffffffffff, size of 18446744073709551615"})
    void refusesSizesThatNoPeerSends(byte flow, String size, String reason) {
        byte[] bytes = Arrays.copyOf(ofC(), 48);
        bytes[4] = flow;
        System.arraycopy(HexFormat.of().parseHex(size), 0, bytes, 40, 8);
        SocketException e = assertThrows(SocketException.class, () -> ConnectData.decode(bytes));
        assertTrue(e.getMessage().contains(reason), e.getMessage());
        assertThrows(SocketException.class, () -> ConnectData.decode(Arrays.copyOf(bytes, 47)));
    }

    @Test
    void bigEndianFlagIsBitZero() throws SocketException {
        byte[] bytes = ofC();
        bytes[1] = 3;
        assertTrue(ConnectData.decode(bytes).bigEndian());
        assertArrayEquals(bytes, ConnectData.decode(bytes).encode());
    }

    @Test
    void bitTwoSaysThatTheSenderTakesOffers() throws SocketException {
        byte[] bytes = ofC();
        bytes[1] = 6;
        assertTrue(ConnectData.decode(bytes).movesOn());
        assertArrayEquals(bytes, ConnectData.decode(bytes).encode());
    }

    @Test
    void highValuesAreUnsigned() throws SocketException {
        ConnectData data = new ConnectData(true, true, 65534, 0xFFFF_8000_0000_0000L, 0xFFFF_FFFF, 65536,
                0xFFFF_9000_0000_0000L, 0x8000_0000, Integer.MAX_VALUE, 0, FlowKind.CREDIT_RING, 0);
        assertEquals(data, ConnectData.decode(data.encode()));
    }

    @ParameterizedTest
    @CsvSource({"0, 00, protocol version 0", "0, 02, protocol version 2", "0, ff, protocol version 255",
        "2, 0000, 0 credits", "2, ffff, 65535 credits", "20, 00000000, 0 table entries", "20, 00000001, 1 table",
        "20, ffffffff, 4294967295 table entries", "20, 00010001, 65537 table entries",
        "8, ffffffffffffffff, table beyond memory", "36, 00000000, first chunk of 0 bytes",
        "36, 80000000, first chunk of 2147483648 bytes", "24, ffffffffffffff00, first chunk of 65536 bytes"})
    void refusesWhatNoPeerSends(int offset, String hex, String reason) {
        byte[] bytes = ofC();
        byte[] patch = HexFormat.of().parseHex(hex);
        System.arraycopy(patch, 0, bytes, offset, patch.length);
        SocketException e = assertThrows(SocketException.class, () -> ConnectData.decode(bytes));
        assertTrue(e.getMessage().contains(reason), e.getMessage());
    }

    @Test
    void refusesWhatIsTooShort() {
        for (int length = 0; length < 40; length++) {
            byte[] bytes = Arrays.copyOf(ofC(), length);
            assertThrows(SocketException.class, () -> ConnectData.decode(bytes));
        }
    }

    @Test
    void garbageIsRefusedOrReadNothingElse() {
        Random random = new Random(42);
        byte[] bytes = new byte[56];
        int refused = 0;
        for (int i = 0; i < 10_000; i++) {
            random.nextBytes(bytes);
            bytes[0] = 1;
            try {
                ConnectData data = ConnectData.decode(bytes);
                assertTrue(data.chunkBytes() > 0 && data.credits() > 0 && data.tableEntries() >= 2);
            } catch (SocketException e) {
                refused++;
            }
        }
        assertTrue(refused > 9000, refused + " of 10000 refused");
    }
}
