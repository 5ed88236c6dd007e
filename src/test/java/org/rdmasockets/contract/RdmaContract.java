package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.SocketException;
import java.util.Random;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.RdmaSocket;

/** The base of contracts that only RDMA sockets have. They are test classes of their own, too: one after the other. */
@Execution(ExecutionMode.SAME_THREAD)
abstract class RdmaContract extends SocketContract {
    /** Two connected sockets. */
    record Ends(RdmaSocket client, RdmaSocket server) {
    }

    final Ends ends() throws IOException {
        SocketPair pair = pair();
        return new Ends((RdmaSocket) pair.client(), (RdmaSocket) pair.server());
    }

    /** Waits until writes of a socket whose peer has closed fail as those of {@code java.net} do. */
    static void awaitBroken(Callable<?> write) throws Exception {
        Await.until("a later write to fail", () -> {
            try {
                write.call();
                return false;
            } catch (SocketException e) {
                assertEquals("Broken pipe", e.getMessage());
                return true;
            }
        });
    }

    /** Bytes that look like chance, the same for each length. */
    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }
}
