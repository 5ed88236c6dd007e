package org.rdmasockets.endpoint;

import java.util.OptionalInt;
import org.rdmasockets.verbs.SendRequest;

/** Moves the bytes of a local region, in pieces where a device or the peer's buffers want such. */
final class Transfer extends Operation {
    private final Kind kind;
    /** Null for a message without bytes. */
    private final LocalRegion local;
    /** Null where the peer chooses. */
    private final RemoteRegion remote;
    private final OptionalInt immediate;
    private final long length;
    private final int pieceBytes;
    private long done;

    /** The kinds of transfers. */
    enum Kind {
        /** A message, a header before each piece. */
        MESSAGE("send", false),
        /** A message as the device knows it. */
        RAW_MESSAGE("raw send", false),
        /** From the peer's memory to here. */
        READ("read", true),
        /** From here to the peer's memory. */
        WRITE("write", false);

        private final String text;
        private final boolean writesLocal;

        Kind(String text, boolean writesLocal) {
            this.text = text;
            this.writesLocal = writesLocal;
        }

        /** For people. */
        String text() {
            return text;
        }

        RangeLocks.Hold hold(LocalRegion region) {
            return region == null ? null : region.hold(writesLocal, text);
        }
    }

    /** The task: local memory, null for a message without bytes, from or to the peer's, null where that chooses. */
    record Task(Kind kind, LocalRegion local, RemoteRegion remote, OptionalInt immediate) {}

    /** A transfer that was not begun, in pieces of at most so many bytes; throws if the memory is in use. */
    Transfer(Task task, int pieceBytes, Pending<Void> pending) {
        super(task.kind.hold(task.local), pending);
        kind = task.kind;
        local = task.local;
        remote = task.remote;
        immediate = task.immediate;
        length = local == null ? 0 : local.length();
        this.pieceBytes = pieceBytes;
    }

    @Override
    boolean hasMore() {
        return super.hasMore() || done < length;
    }

    @Override
    boolean takesReceive() {
        return kind == Kind.MESSAGE || kind == Kind.RAW_MESSAGE || isLastWithImmediate();
    }

    private boolean isLastWithImmediate() {
        return kind == Kind.WRITE && immediate.isPresent() && length - done <= pieceBytes;
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        int piece = (int) Math.min(pieceBytes, length - done);
        switch (kind) {
            case MESSAGE -> slot.header(header(), request.send(workRequestId));
            case RAW_MESSAGE -> request.send(workRequestId);
            case READ -> request.read(workRequestId, remote.address() + done, remote.remoteKey());
            case WRITE -> request.write(workRequestId, remote.address() + done, remote.remoteKey());
        }
        if (kind == Kind.RAW_MESSAGE && immediate.isPresent() || isLastWithImmediate()) {
            request.immediate(immediate.getAsInt());
        }
        if (piece > 0) {
            request.add(local.block.region, local.offset() + done, piece);
        }
        done += piece;
    }

    private Header header() {
        int first = done == 0 ? Header.FIRST : 0;
        int flags = first | (immediate.isPresent() ? Header.IMMEDIATE : 0);
        return new Header(Header.Kind.MESSAGE, flags, 0, 0, immediate.orElse(0), 0, 0, 0, length, 0);
    }

    @Override
    public String toString() {
        return "a " + kind.text() + " of " + length + " bytes";
    }
}
