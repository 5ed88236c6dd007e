package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;

/** Two processes of this host copy only what they must, and the kill of one does not harm the other. */
class ZeroCopyBetweenProcessesTest {
    private static final int LENGTH = 1_000_000;
    private static final int TOO_MUCH = 1 << 25;

    @Test
    void placeReceiveAndDie() throws Exception {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("ZeroCopyBetweenProcessesTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        try (RdmaServerSocket listener = new RdmaServerSocket()) {
            listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            listener.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            listener.setSoTimeout(60_000);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Program other = Program.java("org.rdmasockets.ZeroCopyMain", "" + listener.getLocalPort(), "" + LENGTH);
            try (other; RdmaSocket socket = listener.accept()) {
                socket.setSoTimeout(60_000);
                play(socket, other);
            }
        }
    }

    private static void play(RdmaSocket socket, Program other) throws Exception {
        byte[] sent = new byte[LENGTH];
        new Random(LENGTH).nextBytes(sent);
        RdmaBuffer buffer = socket.allocateBuffer(TOO_MUCH);
        buffer.segment().asSlice(0, LENGTH).copyFrom(MemorySegment.ofArray(sent));
        assertEquals(1, socket.getInputStream().read());
        socket.place(0, buffer, 0, LENGTH);
        socket.getOutputStream().write(1);
        byte[] back = receive(socket, LENGTH - 1);
        assertArrayEquals(Arrays.copyOf(sent, LENGTH - 1), back);
        ReceivedBytes last = socket.receive();
        Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write", () -> socket.write(buffer, 0, TOO_MUCH))
                .awaitBlocked();
        other.kill();
        other.awaitEnd();
        write.failure(SocketException.class);
        assertEquals(sent[LENGTH - 1], last.segment().get(ValueLayout.JAVA_BYTE, 0), "of a process that is dead");
        last.close();
        buffer.segment().fill((byte) 1);
    }

    /** Reads so many bytes, as views and the rest by copying. */
    private static byte[] receive(RdmaSocket socket, int length) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (all.size() < length / 2) {
            try (ReceivedBytes received = socket.receive()) {
                all.writeBytes(received.segment().toArray(ValueLayout.JAVA_BYTE));
            }
        }
        all.writeBytes(socket.getInputStream().readNBytes(length - all.size()));
        return all.toByteArray();
    }
}
