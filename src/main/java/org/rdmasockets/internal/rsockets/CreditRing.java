package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * The flow of rsockets, the only one that C knows: this end writes into chunks that the peer lends, with a message for
 * each write; the peer tells of further chunks and credits by messages of its own.
 */
final class CreditRing extends Flow {
    private static final int NONE = -1;

    final SendWindow window;
    private final RemoteTargetTable targets;
    private final ReceiveBuffer received;
    final CreditGranter lending;
    private final boolean immediateData;
    /** The device tries a message again for which the peer has no receive: no control message is counted. */
    private final boolean retried;
    /** Null if the peer may map nothing. */
    final MapTable maps;
    /** How many messages with data had come when this end sent the last: it may be an answer if that has changed. */
    private int answered = -1;
    private boolean started;
    /** The credit update that came before {@link #start}, or {@link #NONE}; it counts from then on. */
    private int earlyLimit = NONE;
    private int earlyLengthBytes;
    /** The peer has offered one chunk to replace all others, and this end has not moved to it. */
    private boolean offered;

    CreditRing(StreamConnection connection) {
        super(connection);
        StreamSettings settings = connection.settings();
        MemorySegment memory = connection.remoteRegion().segment();
        window = new SendWindow(settings.receiverNotReadyRetry());
        targets = new RemoteTargetTable(memory, RegionLayout.of(settings).offerOffset());
        received = new ReceiveBuffer(connection.memory().chunks, settings);
        immediateData = settings.immediateData();
        retried = settings.receiverNotReadyRetry();
        lending = new CreditGranter(sendQueue, window, received);
        maps = settings.maps() == 0 ? null : new MapTable(memory, settings.maps());
    }

    @Override
    FlowKind kind() {
        return FlowKind.CREDIT_RING;
    }

    @Override
    String start(ConnectData peer) {
        lending.start(peer);
        started = true;
        targets.first(peer);
        window.start(peer.credits());
        return earlyLimit == NONE ? null : update(earlyLimit, earlyLengthBytes);
    }

    @Override
    int room() {
        return window.isOpen() ? targets.room : 0;
    }

    @Override
    SendRequest begin() {
        return sendQueue.begin(WorkRequestId.DATA, targets.address, targets.key);
    }

    @Override
    int finish(int count, int kept) {
        int heard = received.received;
        boolean more = heard == answered;
        answered = heard;
        // Before the post: from then on, the peer may write the entry anew.
        boolean last = targets.take(count);
        int result = sendQueue.finishData(count, kept, more);
        if (last) {
            sendQueue.close();
        }
        if (result != SendHints.JOINED) {
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
        if (closing.isPeerDisconnected()) {
            return null; // nothing that comes after its DISCONNECT means anything
        }
        int argument = ImmediateData.argument(message);
        return switch (ImmediateData.operation(message)) {
            case ImmediateData.DATA -> data(argument);
            case ImmediateData.MAP -> map(argument);
            case ImmediateData.UPDATE -> update(argument, lengthBytes);
            case ImmediateData.CONTROL -> control(argument);
            default -> unknown(message); // C would take 1, 3 and 5 for data, but never sends them
        };
    }

    /** Takes a control message; one that neither C nor this library sends means nothing. */
    private String control(int control) {
        if (lending.peerMovesOn() && control == ImmediateData.MOVED_ON) {
            return received.offerTaken();
        }
        if (lending.peerMovesOn() && control == ImmediateData.OFFER) {
            connection.memory().change();
            if (offered) {
                return "offered a second chunk before the first was taken";
            }
            offered = true;
            return targets.adoptOffer();
        }
        closing.received(control);
        return null;
    }

    /**
     * Takes a credit update, which may bring a chunk. It matters after the peer's SHUTDOWN, too: our direction is open.
     * Before it got data from us, a peer has one reason to send one: to lend its second chunk.
     */
    private String update(int limit, int lengthBytes) {
        connection.memory().change();
        if (!started) {
            boolean second = earlyLimit != NONE;
            earlyLimit = limit;
            earlyLengthBytes = lengthBytes;
            return second ? "sent a second credit update before it had any data" : null;
        }
        String wrong = window.raise(limit);
        window.confirm(received.received());
        if (wrong != null) {
            return wrong;
        }
        if (!immediateData) {
            return targets.adopt(false);
        }
        return switch (lengthBytes) {
            case 0 -> null;
            case RemoteTargetTable.ENTRY_BYTES -> targets.adopt(true);
            default -> "announced a chunk with " + lengthBytes + " bytes";
        };
    }

    /** It costs the peer a credit, as data does. */
    private String map(int index) {
        String wrong = data(0);
        if (wrong != null) {
            return wrong;
        }
        return maps == null ? "mapped memory though there is no entry for it" : maps.adopt(index);
    }

    /** Data after SHUTDOWN, which C can send by a mistake of its user, is dropped; no more is lent, so it ends. */
    private String data(int bytes) {
        if (closing.isInputEnded()) {
            return null;
        }
        String wrong = received.messageArrived();
        if (wrong == null) {
            wrong = received.dataArrived(bytes);
        }
        if (!retried) {
            window.confirm(received.received());
        }
        return wrong;
    }

    @Override
    boolean isAnswerDue() {
        return offered && !closing.isFinished();
    }

    /** Data that was posted before goes to the old chunks, data posted later to the one that was offered. */
    @Override
    int answer() {
        offered = false;
        targets.moveToOffer();
        connection.memory().change();
        return tell(ImmediateData.MOVED_ON);
    }

    @Override
    boolean isFreed() {
        return lending.offering || received.isFreed();
    }

    @Override
    boolean isNewsDue() {
        return closing.isOpenForNews() && lending.isDue();
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

    /** Whether the peer may be asked for large chunks back, or waits for us to let go of its own. */
    @Override
    boolean isLarge() {
        return lending.peerMovesOn() && targets.isLarge();
    }

    /** Asks the peer for large chunks back, if it has some. */
    @Override
    void shrink() {
        received.shrink();
        lending.offer();
    }

    @Override
    public String toString() {
        return window + " target=" + targets.room + " " + received;
    }
}
