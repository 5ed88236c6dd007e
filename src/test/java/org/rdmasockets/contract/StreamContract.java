package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes arrive whole, in order and once, whichever end waits for the other. */
abstract class StreamContract extends SocketContract {
    private static final int MEGABYTE = 1 << 20;

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 63, 64, 65, 127, 4095, 4096, 65_535, 65_536, 65_537, 131_071, 262_145, MEGABYTE})
    void bytesArriveAsTheyWereWritten(int length) throws Exception {
        SocketPair pair = pair();
        byte[] sent = bytes(length, length);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> pair.client().getOutputStream().write(sent));
        assertArrayEquals(sent, pair.server().getInputStream().readNBytes(length));
        write.result();
    }

    private static byte[] bytes(int seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void bothWaysAtOnceNothingIsLost(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        long length = 8 * MEGABYTE;
        Call<Long> sent = Call.start(kind, "client writes", () -> send(pair.client(), length, 1));
        Call<Long> sentBack = Call.start(kind, "server writes", () -> send(pair.server(), length, 2));
        Call<Long> received = Call.start(kind, "server reads", () -> receive(pair.server(), length, 3));
        Call<Long> receivedBack = Call.start(kind, "client reads", () -> receive(pair.client(), length, 4));
        assertEquals(sent.result(), received.result());
        assertEquals(sentBack.result(), receivedBack.result());
    }

    /** Writes random bytes in pieces of random sizes; gives their checksum. */
    private static long send(Socket socket, long length, int seed) throws IOException {
        Random random = new Random(seed);
        CRC32C checksum = new CRC32C();
        OutputStream out = socket.getOutputStream();
        byte[] buffer = new byte[200_000];
        for (long left = length; left > 0;) {
            int piece = (int) Math.min(left, 1 + random.nextInt(random.nextBoolean() ? 300 : buffer.length));
            random.nextBytes(buffer);
            out.write(buffer, 0, piece);
            checksum.update(buffer, 0, piece);
            left -= piece;
        }
        return checksum.getValue();
    }

    private static long receive(Socket socket, long length, int seed) throws IOException {
        Random random = new Random(seed);
        CRC32C checksum = new CRC32C();
        InputStream in = socket.getInputStream();
        byte[] buffer = new byte[100_000];
        for (long left = length; left > 0;) {
            int count = in.read(buffer, 0, (int) Math.min(left, 1 + random.nextInt(buffer.length)));
            assertTrue(count > 0, () -> "end of the stream too early");
            checksum.update(buffer, 0, count);
            left -= count;
        }
        return checksum.getValue();
    }

    @Test
    void singleBytesKeepTheirValue() throws IOException {
        SocketPair pair = pair();
        for (int value = 0; value < 256; value++) {
            pair.client().getOutputStream().write(value);
            assertEquals(value, pair.server().getInputStream().read());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void pingPongTakesTurns(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        int rounds = 1000;
        Call<Void> pong = Call.run(kind, "pong", () -> {
            DataInputStream in = new DataInputStream(pair.server().getInputStream());
            byte[] message = new byte[64];
            for (int i = 0; i < rounds; i++) {
                in.readFully(message);
                pair.server().getOutputStream().write(message);
            }
        });
        Call<Void> ping = Call.run(kind, "ping", () -> {
            byte[] message = new byte[64];
            for (int i = 0; i < rounds; i++) {
                Arrays.fill(message, (byte) i);
                pair.client().getOutputStream().write(message);
                assertArrayEquals(message, pair.client().getInputStream().readNBytes(64));
            }
        });
        ping.result();
        pong.result();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void readWaitsForBytes(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.server().getOutputStream().write(42);
        assertEquals(42, read.result());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void writeWaitsForAReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        byte[] sent = bytes(5, 32 * MEGABYTE);
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(sent)).awaitBlocked();
        assertArrayEquals(sent, pair.server().getInputStream().readNBytes(sent.length));
        write.result();
    }

    @Test
    void readGivesWhatIsThere() throws Exception {
        SocketPair pair = pair();
        pair.client().getOutputStream().write(new byte[] {1, 2, 3});
        InputStream in = pair.server().getInputStream();
        Await.until("3 bytes are there", () -> in.available() == 3);
        byte[] buffer = new byte[10];
        assertEquals(3, in.read(buffer, 4, 6));
        assertArrayEquals(new byte[] {0, 0, 0, 0, 1, 2, 3, 0, 0, 0}, buffer);
    }

    @Test
    void availableCountsWhatCanBeReadAtOnce() throws Exception {
        SocketPair pair = pair();
        InputStream in = pair.server().getInputStream();
        assertEquals(0, in.available());
        pair.client().getOutputStream().write(new byte[100]);
        Await.until("100 bytes are there", () -> in.available() == 100);
        assertEquals(40, in.read(new byte[40]));
        assertEquals(60, in.available());
        pair.client().getOutputStream().write(new byte[40]);
        Await.until("100 bytes are there again", () -> in.available() == 100);
        assertEquals(100, in.readNBytes(100).length);
        assertEquals(0, in.available());
    }

    @Test
    void availableDoesNotWaitForAReader() throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(ThreadKind.PLATFORM, "read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        assertEquals(0, pair.client().getInputStream().available());
        assertTrue(!read.isDone());
        pair.server().getOutputStream().write(1);
        assertEquals(1, read.result());
    }

    @Test
    void writtenBytesAreCopied() throws Exception {
        SocketPair pair = pair();
        byte[] buffer = new byte[30_000];
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int round = 0; round < 50; round++) {
                Arrays.fill(buffer, (byte) round);
                pair.client().getOutputStream().write(buffer);
            }
        });
        for (int round = 0; round < 50; round++) {
            byte[] expected = new byte[buffer.length];
            Arrays.fill(expected, (byte) round);
            assertArrayEquals(expected, pair.server().getInputStream().readNBytes(buffer.length), "round " + round);
        }
        write.result();
    }

    @Test
    void zeroBytesMoveNothing() throws IOException {
        SocketPair pair = pair();
        InputStream in = pair.server().getInputStream();
        assertEquals(0, in.read(new byte[0]));
        assertEquals(0, in.read(new byte[3], 3, 0));
        pair.client().getOutputStream().write(new byte[0]);
        pair.client().getOutputStream().write(new byte[3], 3, 0);
        pair.client().getOutputStream().write(8);
        assertEquals(8, in.read());
    }

    @Test
    void rangesAreChecked() throws IOException {
        SocketPair pair = pair();
        InputStream in = pair.client().getInputStream();
        OutputStream out = pair.client().getOutputStream();
        int[][] wrong = {{-1, 1}, {0, -1}, {0, 5}, {4, 1}, {5, 0}, {2, Integer.MAX_VALUE}};
        for (int[] range : wrong) {
            String text = Arrays.toString(range);
            assertThrows(IndexOutOfBoundsException.class, () -> in.read(new byte[4], range[0], range[1]), text);
            assertThrows(IndexOutOfBoundsException.class, () -> out.write(new byte[4], range[0], range[1]), text);
        }
        assertThrows(NullPointerException.class, () -> in.read(null, 0, 1));
        assertThrows(NullPointerException.class, () -> out.write(null, 0, 1));
        out.write(3);
        assertEquals(3, pair.server().getInputStream().read());
    }

    @Test
    void severalWritersLoseNothing() throws Exception {
        SocketPair pair = pair();
        int length = 300_000;
        Call<?>[] writers = new Call<?>[4];
        for (int w = 0; w < writers.length; w++) {
            byte[] own = new byte[1000];
            Arrays.fill(own, (byte) w);
            writers[w] = Call.run(w % 2 == 0 ? ThreadKind.VIRTUAL : ThreadKind.PLATFORM, "writer " + w, () -> {
                for (int done = 0; done < length; done += own.length) {
                    pair.client().getOutputStream().write(own);
                }
            });
        }
        int[] counts = new int[writers.length];
        byte[] all = pair.server().getInputStream().readNBytes(length * writers.length);
        for (byte value : all) {
            counts[value]++;
        }
        for (int w = 0; w < writers.length; w++) {
            writers[w].result();
            assertEquals(length, counts[w], "bytes of writer " + w);
        }
    }

    @Test
    void severalReadersShareTheBytes() throws Exception {
        SocketPair pair = pair();
        int length = 4 * MEGABYTE;
        AtomicLong total = new AtomicLong();
        Call<?>[] readers = new Call<?>[4];
        for (int r = 0; r < readers.length; r++) {
            readers[r] = Call.run(r % 2 == 0 ? ThreadKind.VIRTUAL : ThreadKind.PLATFORM, "reader " + r, () -> {
                byte[] buffer = new byte[5000];
                int count;
                while ((count = pair.server().getInputStream().read(buffer)) >= 0) {
                    for (int i = 0; i < count; i++) {
                        total.addAndGet(buffer[i]);
                    }
                }
            });
        }
        byte[] sent = bytes(9, length);
        long expected = 0;
        for (byte value : sent) {
            expected += value;
        }
        pair.client().getOutputStream().write(sent);
        pair.client().shutdownOutput();
        for (Call<?> reader : readers) {
            reader.result();
        }
        assertEquals(expected, total.get());
    }
}
