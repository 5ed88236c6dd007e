package org.rdmasockets.benchmark;

import java.io.IOException;
import java.nio.ByteBuffer;

/** What a server does with a connection; its first message says which, and how large the messages are. */
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
