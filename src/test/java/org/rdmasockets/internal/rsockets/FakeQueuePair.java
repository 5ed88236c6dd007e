package org.rdmasockets.internal.rsockets;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * A queue pair that keeps what is posted, and fails the test when a rule of verbs is broken: queue depths, keys and
 * bounds of local memory, inline sizes. The test executes the requests.
 */
final class FakeQueuePair implements QueuePair {
    /** A piece of local memory. */
    private record Piece(SimulatedRegion region, long address, int lengthBytes) {
        byte[] copy() {
            return region.at(address, lengthBytes).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /** A posted send or write; its payload is read when it is executed, unless it was copied by the post. */
    static final class Send {
        final SendRequest.Opcode opcode;
        final long workRequestId;
        final long remoteAddress;
        final int remoteKey;
        int immediate;
        final boolean signalled;
        final boolean inline;
        final int elements;
        private final List<Piece> pieces;
        private byte[] copy;

        private Send(SendRequest request, List<Piece> pieces, boolean copied) {
            opcode = request.opcode();
            workRequestId = request.workRequestId();
            remoteAddress = request.remoteAddress();
            remoteKey = request.remoteKey();
            immediate = request.immediate();
            signalled = request.isSignalled();
            inline = request.isInline() || request.bytes() != null;
            elements = pieces.size();
            this.pieces = pieces;
            copy = request.bytes() != null ? Arrays.copyOfRange(request.bytes(), request.bytesOffset(),
                    request.bytesOffset() + request.bytesLength()) : copied || inline ? gather(pieces) : null;
        }

        /** Becomes as long as both, and the peer hears of both at once. */
        private void add(Send next, int immediateOfBoth) {
            byte[] both = Arrays.copyOf(copy, copy.length + next.copy.length);
            System.arraycopy(next.copy, 0, both, copy.length, next.copy.length);
            copy = both;
            immediate = immediateOfBoth;
        }

        byte[] payload() {
            return copy != null ? copy : gather(pieces);
        }

        boolean needsReceive() {
            return opcode != SendRequest.Opcode.WRITE && !isRead();
        }

        boolean isRead() {
            return opcode == SendRequest.Opcode.READ;
        }

        boolean isWrite() {
            return opcode == SendRequest.Opcode.WRITE || opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE;
        }

        boolean hasImmediate() {
            return opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE
                    || opcode == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        }

        /** Puts what was read where it was wanted. */
        void fill(byte[] data) {
            Piece piece = pieces.getFirst();
            piece.region().at(piece.address(), data.length).copyFrom(MemorySegment.ofArray(data));
        }

        int readBytes() {
            return pieces.getFirst().lengthBytes();
        }

        private static byte[] gather(List<Piece> pieces) {
            if (pieces.size() == 1) {
                return pieces.getFirst().copy();
            }
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            pieces.forEach(p -> all.writeBytes(p.copy()));
            return all.toByteArray();
        }
    }

    /** A posted receive. */
    record Receive(long workRequestId, SimulatedRegion region, long address, int lengthBytes) {
        void fill(byte[] data) {
            if (data.length > lengthBytes) {
                throw new AssertionError("a receive of " + lengthBytes + " bytes got " + data.length);
            }
            if (data.length > 0) {
                region.at(address, data.length).copyFrom(MemorySegment.ofArray(data));
            }
        }
    }

    final Deque<Send> sends = new ArrayDeque<>();
    final Deque<Receive> receives = new ArrayDeque<>();
    private final int maxSends;
    private final int maxReceives;
    private final int maxInline;
    private final boolean emptyReceive;
    private final boolean copiesAtPost;
    private final boolean holdsMessages;
    private final List<SimulatedRegion> regions;
    /** Identifiers of requests whose slot is in use. */
    private final Deque<Long> outstandingSends = new ArrayDeque<>();
    private int outstandingReceives;
    private int refuseWith;
    /** The request that the next one may join while it is not on its way, or null. */
    private Send open;
    private int joined;

    FakeQueuePair(StreamSettings settings, int maxInline, SimulatedRegion... regions) {
        this.maxSends = settings.maxSends();
        this.maxReceives = settings.maxReceives();
        this.emptyReceive = settings.emptyReceive();
        this.copiesAtPost = settings.copiesAtPost();
        this.holdsMessages = settings.flow() == FlowKind.SEND_RECEIVE;
        this.maxInline = maxInline;
        this.regions = new ArrayList<>(List.of(regions));
    }

    /** The owner has registered memory. */
    void add(SimulatedRegion region) {
        regions.add(region);
    }

    /** The owner closes a region: it must not be used from now on. */
    void close(SimulatedRegion region) {
        if (!regions.remove(region)) {
            throw new AssertionError("closed twice");
        }
        region.close();
    }

    /** From now on posts are refused. */
    void refuse(Errno errno) {
        refuseWith = errno.number();
    }

    /** The completion of a receive was delivered, so its slot is free. */
    void retireReceive() {
        outstandingReceives--;
    }

    /** The completion of a request was delivered, so its slot and those of all before it are free. */
    void retireSend(long workRequestId) {
        if (WorkRequestId.kind(workRequestId) == WorkRequestId.POSITION) {
            outstandingSends.remove(workRequestId);
            return;
        }
        if (outstandingSends.contains(workRequestId)) {
            while (outstandingSends.remove() != workRequestId) {
                assert !outstandingSends.isEmpty();
            }
        }
    }

    /** Whether all receives are posted but the few that are posted together. */
    boolean hasReceives() {
        return outstandingReceives > maxReceives - (emptyReceive ? 8 : 1);
    }

    SimulatedRegion byRemoteKey(int key) {
        return regions.stream().filter(r -> r.remoteKey() == key).findFirst().orElse(null);
    }

    private Piece piece(ScatterGatherList elements, int index) {
        for (SimulatedRegion region : regions) {
            if (region.localKey() == elements.key(index)) {
                region.at(elements.address(index), elements.lengthBytes(index));
                return new Piece(region, elements.address(index), elements.lengthBytes(index));
            }
        }
        throw new AssertionError("unknown local key");
    }

    @Override
    public int postSend(SendRequest request) {
        if (refuseWith != 0) {
            return refuseWith;
        }
        if (outstandingSends.size() == maxSends) {
            throw new AssertionError("send queue of " + maxSends + " overrun");
        }
        if (request.bytes() != null && (!copiesAtPost || request.isInline() || request.elements().count() > 0)) {
            throw new AssertionError("this device takes no array, or not only that");
        }
        if (request.isInline() && request.elements().totalBytes() > maxInline) {
            throw new AssertionError(request.elements().totalBytes() + " bytes inline, granted " + maxInline);
        }
        List<Piece> pieces = new ArrayList<>(request.elements().count());
        for (int i = 0; i < request.elements().count(); i++) {
            pieces.add(piece(request.elements(), i));
        }
        if (request.opcode() == SendRequest.Opcode.WRITE_WITH_IMMEDIATE
                && ImmediateData.operation(request.immediate()) == ImmediateData.UPDATE
                && !holdsMessages && outstandingReceives < maxReceives) {
            throw new AssertionError("credits for receives that are not posted");
        }
        outstandingSends.add(request.workRequestId());
        Send send = new Send(request, pieces, copiesAtPost);
        if (copiesAtPost && (request.hints() & SendHints.JOINING) != 0 && open != null && sends.contains(open)) {
            if (send.remoteAddress != open.remoteAddress + open.payload().length || send.remoteKey != open.remoteKey) {
                throw new AssertionError("joins a message that ends elsewhere");
            }
            open.add(send, request.joinedImmediate());
            // Only its completion is left.
            SendRequest nothing = new SendRequest(1).write(request.workRequestId(), 0, 0);
            sends.add(new Send(request.isSignalled() ? nothing.signalled() : nothing, List.of(), false));
            joined++;
            return SendHints.JOINED;
        }
        if (send.needsReceive()) {
            open = (request.hints() & SendHints.OPEN) != 0 ? send : null;
        }
        sends.add(send);
        return POSTED;
    }

    /** How many requests have joined the one before them. */
    int joined() {
        return joined;
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        if (refuseWith != 0) {
            return refuseWith;
        }
        if (outstandingReceives == maxReceives) {
            throw new AssertionError("receive queue of " + maxReceives + " overrun");
        }
        outstandingReceives++;
        if (request.elements().count() == 0) {
            if (!emptyReceive) {
                throw new AssertionError("this device needs memory for a receive");
            }
            receives.add(new Receive(request.workRequestId(), null, 0, 0));
        } else {
            Piece piece = piece(request.elements(), 0);
            receives.add(new Receive(request.workRequestId(), piece.region(), piece.address(), piece.lengthBytes()));
        }
        return POSTED;
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        int result = POSTED;
        for (int i = 0; i < count && result == POSTED; i++) {
            if (request.elements().count() > 0) {
                throw new AssertionError("receives that share memory");
            }
            result = postReceive(new ReceiveRequest(1).receive(firstWorkRequestId + i));
        }
        return result;
    }

    @Override
    public int number() {
        return 1;
    }

    @Override
    public QueuePairConfig config() {
        throw new UnsupportedOperationException();
    }

    @Override
    public int maxInlineBytes() {
        return maxInline;
    }

    @Override
    public QueuePairState queryState() {
        return QueuePairState.UNKNOWN;
    }

    @Override
    public void modify(QueuePairAttributes attributes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void fail() {
        throw new UnsupportedOperationException("the stream never moves its queue pair");
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException("the stream never closes its queue pair");
    }
}
