package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.SendRequest;

/**
 * A flow of messages into receives that the peer has posted. Neither end writes into the other's memory by its address:
 * the end that accepts opens none to its peer; the end that proposes has some open, in case the peer knows rsockets'
 * own flow alone, and otherwise does not look at it. Each message takes a whole receive until it was read, however
 * short it is: so this flow is for writes of about the size of a receive.
 *
 * <p>Each end says in its private data how long a message may be that it takes, and how many credits the other has. A
 * message says {@link ImmediateData#DATA} with the credit limit of the other direction, 16 bits, absolute; without data
 * that way, {@link ImmediateData#UPDATE} tells it. Without immediate data, these 32 bits begin the message.
 */
final class SendReceive extends Flow {
    private final MessageQueue received;
    private final SendWindow window;
    private final int headerBytes;
    private final int maxWriteBytes;
    /** Most bytes that the peer takes in a message. */
    private int messageBytes;
    /** The {@link ImmediateData} of the message that was begun. */
    private int message;

    SendReceive(StreamConnection connection) {
        super(connection);
        received = new MessageQueue(connection);
        // No more than three updates and two words are on their way to a peer that takes nothing in, and for those it
        // has receives that it gives no credits for: so none of them has to be counted.
        window = new SendWindow(true);
        headerBytes = connection.settings().headerBytes();
        maxWriteBytes = connection.settings().maxWriteBytes();
    }

    /** A new one, which is loaded only if it is used. */
    static Flow of(StreamConnection connection) {
        return new SendReceive(connection);
    }

    @Override
    FlowKind kind() {
        return FlowKind.SEND_RECEIVE;
    }

    @Override
    String start(ConnectData peer) {
        window.start(peer.credits());
        messageBytes = (int) Math.min(peer.flowBytes(), maxWriteBytes);
        return null;
    }

    @Override
    int room() {
        return window.isOpen() ? messageBytes : 0;
    }

    @Override
    SendRequest begin() {
        message = ImmediateData.limit(received.grant());
        return sendQueue.beginSend(message);
    }

    @Override
    int finish(int count, int kept) {
        window.dataSent();
        return sendQueue.finishSend(count, kept, message);
    }

    @Override
    MessageQueue received() {
        return received;
    }

    @Override
    String arrived(int slot, int said, int lengthBytes) {
        int argument = ImmediateData.argument(said);
        return switch (ImmediateData.operation(said)) {
            case ImmediateData.DATA -> data(slot, argument, lengthBytes - headerBytes);
            case ImmediateData.UPDATE -> {
                connection.repost(slot);
                yield window.raise(argument);
            }
            case ImmediateData.CONTROL -> {
                connection.repost(slot);
                closing.received(argument);
                yield null;
            }
            default -> unknown(said);
        };
    }

    /** Data after SHUTDOWN or DISCONNECT is dropped. */
    private String data(int slot, int limit, int bytes) {
        if (closing.isInputEnded()) {
            connection.repost(slot);
            return null;
        }
        String wrong = received.arrive(slot, bytes);
        return wrong != null ? wrong : window.raise(limit);
    }

    @Override
    boolean isNewsDue() {
        return !closing.isFinished() && !closing.isInputEnded() && received.areCreditsDue();
    }

    @Override
    int tellNews() {
        return sendQueue.postMessage(WorkRequestId.UPDATE, ImmediateData.update(received.grant()));
    }

    @Override
    public String toString() {
        return window + " " + received;
    }
}
