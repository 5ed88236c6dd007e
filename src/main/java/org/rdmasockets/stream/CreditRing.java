package org.rdmasockets.stream;

import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;

/**
 * The flow of rsockets, the only one that C knows: this end writes into chunks that the peer lends, with a message for
 * each write; the peer tells of further chunks and credits by messages of its own.
 */
final class CreditRing extends Flow {
    private final StreamConnection connection;
    private final SendQueue sendQueue;
    private final SendBuffer sendBuffer;
    private final ChunkStock chunks;
    private final Closing closing;
    private final RegionLayout layout;
    private final SendWindow window;
    private final TargetTable targets;
    private final ReceiveBuffer received;
    private final Lending lending;
    private final Borrowing borrowing;
    private final Arrivals arrivals;
    /** How many messages with data had come when this end sent the last: it may be an answer if that has changed. */
    private long answered = -1;

    /**
     * Nothing is lent yet but the first chunk.
     *
     * @param parts what the connection is made of
     */
    CreditRing(Parts parts) {
        super(parts);
        StreamSettings settings = parts.settings();
        Regions memory = parts.memory();
        connection = parts.connection();
        sendQueue = parts.sendQueue();
        sendBuffer = parts.sendBuffer();
        chunks = parts.chunks();
        closing = parts.closing();
        layout = memory.layout();
        window = new SendWindow(settings.receiverNotReadyRetry());
        targets = new TargetTable(memory.remote().segment(), layout.offerOffset());
        received = new ReceiveBuffer(chunks, settings);
        borrowing = new Borrowing(window, targets, settings.immediateData());
        lending = new Lending(sendQueue, window, received, settings.copiesAtPost() ? null : memory.send());
        arrivals = new Arrivals(received, window, borrowing, lending, closing,
                settings.maps() == 0 ? null : new MapTable(memory.remote().segment(), settings.maps()));
    }

    @Override
    FlowKind kind() {
        return FlowKind.CREDIT_RING;
    }

    @Override
    String start(ConnectData peer) {
        lending.start(peer, layout.stagedOffset());
        return borrowing.start(peer, received.received());
    }

    @Override
    boolean isStarted() {
        return lending.isStarted();
    }

    @Override
    int room() {
        return window.isOpen() ? targets.room() : 0;
    }

    @Override
    SendRequest begin() {
        return sendQueue.begin(WorkRequestId.DATA, targets.address(), targets.key());
    }

    @Override
    int finish(int count, int kept) {
        boolean more = received.received() == answered;
        answered = received.received();
        // Before the post: from then on, the peer may write the entry anew.
        boolean last = targets.take(count);
        int result = sendQueue.finishData(count, kept, more);
        if (last) {
            sendQueue.close();
        }
        if (result != QueuePair.JOINED) {
            window.dataSent();
        }
        return result;
    }

    @Override
    ReceiveBuffer received() {
        return received;
    }

    @Override
    String arrived(int slot, int message, int lengthBytes) {
        connection.repost(slot);
        return arrivals.apply(message, lengthBytes);
    }

    @Override
    boolean isAnswerDue() {
        return borrowing.isOffered() && !closing.isFinished();
    }

    /** Data that was posted before goes to the old chunks, data posted later to the one that was offered. */
    @Override
    int answer() {
        borrowing.moveOn();
        return tell(ImmediateData.MOVED_ON);
    }

    @Override
    boolean isNewsDue() {
        return !closing.isFinished() && !closing.isInputEnded() && lending.isDue();
    }

    @Override
    boolean mayTellNews() {
        return lending.mayPost();
    }

    @Override
    int tellNews() {
        return lending.post();
    }

    @Override
    void noteControl() {
        window.controlSent(received.granted());
    }

    @Override
    MapTable maps() {
        return arrivals.maps();
    }

    /** What maps memory for the peer to write to. */
    Mapping mapping() {
        return new Mapping(connection, sendQueue, sendBuffer, lending, window);
    }

    /** Whether the peer may be asked for large chunks back, or waits for us to let go of its own. */
    @Override
    boolean isLarge() {
        return lending.peerMovesOn() && targets.isLarge();
    }

    /** Asks the peer for large chunks back, if it has some. */
    @Override
    void shrink() {
        chunks.shrink();
        lending.offer();
    }

    @Override
    public String toString() {
        return window + " target=" + targets.room() + " " + received;
    }
}
