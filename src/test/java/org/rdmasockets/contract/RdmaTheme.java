package org.rdmasockets.contract;

import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.RdmaSocket;

/** What themes need that only RDMA sockets have. They are test classes of their own, too: one after the other. */
@Execution(ExecutionMode.SAME_THREAD)
abstract class RdmaTheme extends SocketTheme {
    /** Two connected sockets. */
    record Ends(RdmaSocket client, RdmaSocket server) {
    }

    final Ends ends() throws IOException {
        SocketPair pair = pair();
        return new Ends((RdmaSocket) pair.client(), (RdmaSocket) pair.server());
    }

    /** Bytes that look like chance, the same for each length. */
    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }
}
