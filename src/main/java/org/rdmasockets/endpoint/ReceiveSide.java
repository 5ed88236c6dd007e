package org.rdmasockets.endpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;

/**
 * The receive queue with buffers for messages. Control messages are taken in as they come; data stays in its buffer, or
 * keeps its credit, until the application has taken it: so a sender waits for a slow receiver, and nothing piles up.
 * Every byte is hostile until it was checked. Protected by the protocol lock.
 */
final class ReceiveSide implements Receives {
    /**
     * The most untaken signals. A node tells another once at each barrier, and comes to the next only when the other
     * has come to this one, and so has heard all that it was told before.
     */
    private static final int MOST_SIGNALS = 2;

    private final EndpointProtocol link;
    private final QueuePair queuePair;
    private final MemoryRegion region;
    private final Greeting own;
    private final long idBase;
    private final ReceiveRequest request = new ReceiveRequest(1);
    final Mailbox<Fragment> messages;
    final Mailbox<Integer> immediates;
    final Mailbox<RemoteLease> shared;
    final Mailbox<Lender.Lent> handedOver;
    final Mailbox<Header> signals;
    private int dataArrived;
    private int dataTaken;
    private int controlTaken;
    /** The counts that the peer was told last. */
    private int dataTold;
    private int controlTold;
    /** The whole length of the message in progress, as its first piece said. */
    private long whole;
    /** The bytes of it that are missing. */
    private long missing;

    /** A piece of a message in its buffer, which is the taker's until it is given back; the header was checked. */
    record Fragment(int index, Header header, MemorySegment bytes) {}

    ReceiveSide(EndpointProtocol link, QueuePair queuePair, MemoryRegion region, Greeting own, long idBase) {
        this.link = link;
        this.queuePair = queuePair;
        this.region = region;
        this.own = own;
        this.idBase = idBase;
        messages = new Mailbox<>(link.readers, "receive");
        immediates = new Mailbox<>(link.readers, "receiveImmediate");
        shared = new Mailbox<>(link.readers, "receiveShared");
        handedOver = new Mailbox<>(link.readers, "receiveHandedOver");
        signals = new Mailbox<>(link.readers, "barrier");
    }

    /** How many receives there are. */
    static int count(Greeting own) {
        return own.dataMessages() + own.controlMessages();
    }

    void postAll() throws IOException {
        for (int i = 0; i < count(own); i++) {
            int result = tryPost(i);
            if (result != QueuePair.POSTED) {
                throw EndpointException.ofPost("ibv_post_recv", result);
            }
        }
    }

    private int tryPost(int index) {
        return queuePair.postReceive(request.receive(idBase | index)
                .add(region, (long) index * own.bufferBytes(), own.bufferBytes()));
    }

    private void post(int index) {
        int result = tryPost(index);
        if (result != QueuePair.POSTED) {
            link.fail(EndpointException.ofPost("ibv_post_recv", result));
        }
    }

    /** Takes a signal of another node. */
    void onSignal(Header header) throws Violation {
        signals.add(header);
        if (signals.size() > MOST_SIGNALS) {
            throw new Violation("more than " + MOST_SIGNALS + " signals at once");
        }
    }

    @Override
    public void completed(int index, Completion completion) throws Violation {
        if (completion.opcode() == CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE) {
            countData();
            post(index);
            immediates.add(completion.immediate());
            return;
        }
        MemorySegment message = message(index, completion);
        Header header = Header.read(message);
        link.sends.acknowledge(header);
        if (header.kind() == Header.Kind.MESSAGE) {
            countData();
            checkMessage(header, completion.lengthBytes() - Header.BYTES);
            messages.add(new Fragment(index, header, message.asSlice(Header.BYTES)));
            return;
        }
        post(index);
        if (header.kind().isData()) {
            countData();
        } else {
            controlTaken++;
        }
        link.onNotice(header);
    }

    /** The received message with its header. */
    private MemorySegment message(int index, Completion completion) throws Violation {
        int length = completion.lengthBytes();
        if (length < Header.BYTES) {
            throw new Violation("a message of " + length + " bytes is shorter than its header");
        }
        return region.segment().asSlice((long) index * own.bufferBytes(), length);
    }

    private void countData() throws Violation {
        dataArrived++;
        if (dataArrived - dataTaken > own.dataMessages()) {
            throw new Violation("more than " + own.dataMessages() + " messages at once");
        }
    }

    /** Pieces follow each other until the message is complete. */
    private void checkMessage(Header header, int piece) throws Violation {
        boolean first = (header.flags() & Header.FIRST) != 0;
        long length = header.lengthBytes();
        if (first != (missing == 0) || length < 0 || length > own.maxMessageBytes()) {
            throw new Violation(first ? "a message of " + length + " bytes begins, " + missing
                    + " bytes before the end of another; at most " + own.maxMessageBytes() + " are allowed"
                    : "a piece of no message");
        }
        if (!first && length != whole) {
            throw new Violation("a piece of a message of " + length + " bytes within one of " + whole);
        }
        if ((header.flags() & Header.RENDEZVOUS) != 0) {
            checkRendezvous(header, piece);
            return;
        }
        whole = length;
        long left = first ? whole : missing;
        if (piece > left || piece == 0 && left > 0) {
            throw new Violation("a piece of " + piece + " bytes, where " + left + " are missing");
        }
        missing = left - piece;
    }

    /** A message that is to be read: all of it, from memory that there may be. */
    private static void checkRendezvous(Header header, int piece) throws Violation {
        long length = header.lengthBytes();
        if (header.flags() != (Header.FIRST | Header.RENDEZVOUS) || piece != 0 || length == 0
                || Long.compareUnsigned(header.address() + length - 1, header.address()) < 0) {
            throw new Violation("a message of " + length + " bytes to be read at 0x"
                    + Long.toHexString(header.address()) + ", and " + piece + " bytes with it");
        }
    }

    /** The application has taken something that had no buffer. */
    void taken() {
        dataTaken++;
    }

    /** The application has taken what was in a buffer. */
    void giveBack(Fragment fragment) {
        dataTaken++;
        post(fragment.index);
    }

    @Override
    public Header late(int index, Completion completion) throws Violation {
        return completion.opcode() == CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE ? null
                : Header.read(message(index, completion));
    }

    @Override
    public void end(EndpointException reason) {
        messages.end(reason);
        immediates.end(reason);
        shared.end(reason);
        handedOver.end(reason);
        signals.end(reason);
    }

    @Override
    public void discard() {
        messages.discard(piece -> { });
        immediates.discard(number -> { });
        shared.discard(lease -> { });
        signals.discard(signal -> { });
        handedOver.discard(link.lender::discard);
    }

    @Override
    public Header stamp(Header header) {
        controlTold = controlTaken;
        dataTold = dataTaken;
        return header.withTaken(controlTaken, dataTaken);
    }

    @Override
    public boolean owesCredit() {
        return 2 * (dataTaken - dataTold) >= own.dataMessages() || owesControlCredit();
    }

    @Override
    public boolean owesControlCredit() {
        return 2 * (controlTaken - controlTold) >= own.controlMessages();
    }
}
