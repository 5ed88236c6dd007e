package org.rdmasockets.benchmark;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The work of a server on a connection; the first message names the service and the size of the messages. */
enum Service {
    /** Answers each message with itself. */
    ECHO {
        @Override
        void serve(Link link, int messageBytes) throws IOException {
            byte[] message = new byte[messageBytes];
            while (link.fill(message)) {
                link.write(message);
            }
        }
    },
    /** The same after some 20 us of work, the same amount of it for every contender. */
    WORK {
        @Override
        void serve(Link link, int messageBytes) throws IOException {
            byte[] message = new byte[messageBytes];
            while (link.fill(message)) {
                message[0] = (byte) work(message[0]);
                link.write(message);
            }
        }
    },
    /** Swallows zeros, and answers each 1 with a byte. A 1 is followed by nothing until that. */
    SINK {
        @Override
        void serve(Link link, int messageBytes) throws IOException {
            byte[] buffer = new byte[SINK_BYTES];
            byte[] answer = new byte[1];
            for (int count = link.read(buffer, 0, SINK_BYTES); count >= 0; count = link.read(buffer, 0, SINK_BYTES)) {
                if (buffer[count - 1] == LAST) {
                    link.write(answer);
                }
            }
        }
    };

    /** The byte that asks a sink for an answer. */
    static final byte LAST = 1;
    private static final int SINK_BYTES = 64 * 1024;
    private static final int ORDER_BYTES = 8;
    private static final int WORK_STEPS = 15_000;

    /** Each step waits for the last one, so no compiler makes them fewer. */
    private static long work(long seed) {
        long value = seed;
        for (int i = 0; i < WORK_STEPS; i++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        return value >>> Long.SIZE / 2;
    }

    /** Serves until the client closes. */
    abstract void serve(Link link, int messageBytes) throws IOException;

    /** Asks for this service, at the client's end. */
    void order(Link link, int messageBytes) throws IOException {
        link.write(ByteBuffer.allocate(ORDER_BYTES).putInt(ordinal()).putInt(messageBytes).array());
    }

    /** Serves what the client asks for, until it closes. */
    static void serveOrder(Link link) throws IOException {
        ByteBuffer order = ByteBuffer.allocate(ORDER_BYTES);
        if (link.fill(order.array())) {
            values()[order.getInt()].serve(link, order.getInt());
        }
    }
}
