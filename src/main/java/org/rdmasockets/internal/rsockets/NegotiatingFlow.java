package org.rdmasockets.internal.rsockets;

import java.util.ArrayDeque;
import java.util.Queue;
import org.rdmasockets.verbs.SendRequest;

/**
 * The flow of an end that has not started with another than rsockets': nothing can be sent, and what arrives is kept,
 * at most one message for each receive, for none is posted again meanwhile.
 */
final class NegotiatingFlow extends Flow {
    /** A message that came early. */
    private record Message(int slot, int message, int lengthBytes) {}

    private final FlowKind proposed;
    private final Received nothing;
    private final Queue<Message> early = new ArrayDeque<>(0);

    NegotiatingFlow(Parts parts) {
        super(parts);
        proposed = parts.settings().flow();
        nothing = new MessageQueue(parts);
    }

    @Override
    FlowKind kind() {
        return proposed;
    }

    /** Lets the flow that was agreed on take what has come. Returns what the peer did wrong, or null. */
    String handOver(Flow decided) {
        String wrong = null;
        for (Message m = early.poll(); m != null && wrong == null; m = early.poll()) {
            wrong = decided.arrived(m.slot, m.message, m.lengthBytes);
        }
        return wrong;
    }

    @Override
    String start(ConnectData peer) {
        throw new IllegalStateException("undecided");
    }

    @Override
    int room() {
        return 0;
    }

    @Override
    SendRequest begin() {
        throw new IllegalStateException("undecided");
    }

    @Override
    int finish(int count, int kept) {
        throw new IllegalStateException("undecided");
    }

    @Override
    Received received() {
        return nothing;
    }

    @Override
    String arrived(int slot, int message, int lengthBytes) {
        early.add(new Message(slot, message, lengthBytes));
        return null;
    }

    @Override
    boolean isNewsDue() {
        return false;
    }

    @Override
    boolean mayTellNews() {
        return false;
    }

    @Override
    int tellNews() {
        throw new IllegalStateException("undecided");
    }

    @Override
    public String toString() {
        return "undecided early=" + early.size();
    }
}
