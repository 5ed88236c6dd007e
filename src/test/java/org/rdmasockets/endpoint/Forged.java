package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.SendRequest;

/** A message of bytes that no honest peer sends. */
final class Forged extends Operation {
    private final LocalRegion bytes;
    /** Begins the bytes, with the counts of the time when they are sent; null if they are sent as they are. */
    private final Header header;
    private final EndpointProtocol link;
    private volatile boolean sent;

    /** A message as it is. */
    Forged(LocalRegion bytes) {
        this(bytes, null, null);
    }

    private Forged(LocalRegion bytes, Header header, EndpointProtocol link) {
        super(null, null);
        this.bytes = bytes;
        this.header = header;
        this.link = link;
    }

    /** Sends something as soon as there is credit for it. */
    static void send(RdmaEndpoint from, LocalRegion bytes) {
        send(from, new Forged(bytes));
    }

    private static void send(RdmaEndpoint from, Forged one) {
        from.link.connection().locked(() -> from.link.sends.send(one));
    }

    /** Sends something with a header, and with honest counts of what has been taken in. */
    static void send(RdmaEndpoint from, Header header, int payloadBytes) throws IOException {
        send(from, new Forged(from.allocate(Header.BYTES + payloadBytes), header, from.link));
    }

    /** Sends pieces of a message that is to be longer than them; gives the last one. */
    static Forged sendPieces(RdmaEndpoint from, int whole, int count, int pieceBytes) throws IOException {
        List<Forged> pieces = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            pieces.add(new Forged(from.allocate(Header.BYTES + pieceBytes), new Header(Header.Kind.MESSAGE,
                    i == 0 ? Header.FIRST : 0, 0, 0, 0, 0, 0, 0, whole, 0), from.link));
        }
        pieces.forEach(one -> send(from, one));
        return pieces.getLast();
    }

    /** Whether the peer's device has it, for which the peer has taken others before. */
    boolean isSent() {
        link.connection().locked(() -> { });
        return sent;
    }

    @Override
    boolean takesReceive() {
        return true;
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        if (header != null) {
            link.stamp(header).write(bytes.segment());
        }
        request.send(workRequestId).add(bytes.block.region, bytes.offset(), (int) bytes.length());
    }

    @Override
    void succeed(SendSlot slot) {
        sent = true;
    }

    @Override
    void fail(EndpointException reason) {
    }
}
