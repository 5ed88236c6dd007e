package org.rdmasockets.endpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/** Memory of one request of the send queue: its header on the way out, or the old value that an atomic brings back. */
final class SendSlot {
    /** How much it is. */
    static final int BYTES = 64;

    private final MemoryRegion region;
    private final long offset;
    private final MemorySegment memory;
    private final EndpointProtocol link;

    /** The slot of an index; {@code link} adds the counts of the time to a header. */
    SendSlot(MemoryRegion region, int index, EndpointProtocol link) {
        this.region = region;
        this.link = link;
        offset = (long) index * BYTES;
        memory = region.segment().asSlice(offset, BYTES);
    }

    /** Puts a header here and into a request. */
    void header(Header header, SendRequest request) {
        link.stamp(header).write(memory);
        request.add(region, offset, Header.BYTES);
    }

    void value(SendRequest request) {
        request.add(region, offset, Long.BYTES);
    }

    /** The value that a request has brought. */
    long value() {
        return memory.get(ValueLayout.JAVA_LONG, 0);
    }
}
