package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * The flow of rsockets, the only one that C knows: this end writes into chunks that the peer lends, with a message for
 * each write; the peer tells of further chunks and credits by messages of its own.
 */
final class CreditRing extends Flow {
    private final SendWindow window;
    private final RemoteTargetTable targets;
    private final ReceiveBuffer received;
    private final CreditGranter lending;
    private final Borrowing borrowing;
    /** Null if the peer may map nothing. */
    private final MapTable maps;
    /** How many messages with data had come when this end sent the last: it may be an answer if that has changed. */
    private int answered = -1;

    CreditRing(Parts parts) {
        super(parts);
        StreamSettings settings = parts.settings();
        MemorySegment memory = parts.remote().segment();
        window = new SendWindow(settings.receiverNotReadyRetry());
        targets = new RemoteTargetTable(memory, parts.layout().offerOffset());
        received = new ReceiveBuffer(parts.chunks(), settings);
        borrowing = new Borrowing(window, targets, settings.immediateData());
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
        return borrowing.start(peer, received.received());
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
        int heard = received.received();
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
        int operation = ImmediateData.operation(message);
        switch (operation) {
            case ImmediateData.DATA -> {
                return data(argument);
            }
            case ImmediateData.MAP -> {
                return map(argument);
            }
            case ImmediateData.UPDATE -> {
                connection.memory().change();
                return borrowing.updateArrived(argument, lengthBytes, received.received());
            }
            case ImmediateData.CONTROL -> {
                return control(argument);
            }
            default -> {
                // C would take 1, 3 and 5 for data, but never sends them.
                return "sent a message with the unknown operation " + operation;
            }
        }
    }

    /** Takes a control message; one that neither C nor this library sends means nothing. */
    private String control(int control) {
        if (lending.peerMovesOn() && control == ImmediateData.MOVED_ON) {
            return received.offerTaken();
        }
        if (lending.peerMovesOn() && control == ImmediateData.OFFER) {
            connection.memory().change();
            return borrowing.offerArrived();
        }
        closing.received(control);
        return null;
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
        window.confirm(received.received());
        return wrong;
    }

    @Override
    boolean isAnswerDue() {
        return borrowing.isOffered() && !closing.isFinished();
    }

    /** Data that was posted before goes to the old chunks, data posted later to the one that was offered. */
    @Override
    int answer() {
        borrowing.moveOn();
        connection.memory().change();
        return tell(ImmediateData.MOVED_ON);
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

    @Override
    MapTable maps() {
        return maps;
    }

    /** A new mapper of memory for the peer to write to. */
    MemoryMapper mapping() {
        return new MemoryMapper(connection, sendQueue, lending, window);
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
        return window + " target=" + targets.room() + " " + received;
    }

    /**
     * Credit that the peer lends: messages, and a place for them. An update from before the start counts from then on.
     */
    private static final class Borrowing {
        private static final int NONE = -1;

        private final SendWindow window;
        private final RemoteTargetTable targets;
        private final boolean immediateData;
        private boolean started;
        /** The credit update that came before {@link #start}, or {@link #NONE}. */
        private int earlyLimit = NONE;
        private int earlyLengthBytes;
        /** The peer has offered a chunk for all others, and we have not moved to it. */
        private boolean offered;

        /** Nothing is lent yet. With immediate data, the length of an update tells whether a chunk comes with it. */
        Borrowing(SendWindow window, RemoteTargetTable targets, boolean immediateData) {
            this.window = window;
            this.targets = targets;
            this.immediateData = immediateData;
        }

        /** Takes what the peer lends from the beginning. Null if all is well, otherwise what it did wrong before. */
        String start(ConnectData peer, int received) {
            started = true;
            targets.first(peer);
            window.start(peer.credits());
            return earlyLimit == NONE ? null : updateArrived(earlyLimit, earlyLengthBytes, received);
        }

        /**
         * Takes a credit update from a peer that has sent {@code received} data messages. They matter after its
         * SHUTDOWN, too: our direction is open. Null if all is well, otherwise what the peer did wrong.
         */
        String updateArrived(int limit, int lengthBytes, int received) {
            if (!started) {
                return keep(limit, lengthBytes);
            }
            String wrong = window.raise(limit);
            window.confirm(received);
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

        /** Before it got data from us, a peer has one reason to send an update: to lend its second chunk. */
        private String keep(int limit, int lengthBytes) {
            if (earlyLimit != NONE) {
                return "sent a second credit update before it had any data";
            }
            earlyLimit = limit;
            earlyLengthBytes = lengthBytes;
            return null;
        }

        /** Takes an offer; gives null if all is well, otherwise what the peer did wrong. */
        String offerArrived() {
            if (offered) {
                return "offered a second chunk before the first was taken";
            }
            offered = true;
            return targets.adoptOffer();
        }

        /** Whether the peer waits for us to {@link #moveOn} to the chunk it offered, and to be told so. */
        boolean isOffered() {
            return offered;
        }

        /** Moves to the chunk that was offered: data that is posted later goes there. */
        void moveOn() {
            offered = false;
            targets.moveToOffer();
        }
    }
}
