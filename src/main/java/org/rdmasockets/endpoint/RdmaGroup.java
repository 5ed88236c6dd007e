package org.rdmasockets.endpoint;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * Several endpoints that are used together: each call begins all of its operations before it waits for any. Members are
 * numbered from 0. Memory that goes to several of them has to be theirs in common, see
 * {@link RdmaEndpointBuilder#sharedProtectionDomain}. When a call fails, all of its operations have ended,
 * as with an {@link OperationScope}.
 *
 * @since 0.1
 */
public final class RdmaGroup {
    private final List<RdmaEndpoint> members;

    /**
     * A group.
     *
     * @param members its endpoints, at least one, which stay the caller's
     */
    public RdmaGroup(List<RdmaEndpoint> members) {
        if (members.isEmpty()) {
            throw new IllegalArgumentException("a group has at least one member");
        }
        this.members = List.copyOf(members);
    }

    /** {@return how many members there are, at least 1} */
    public int size() {
        return members.size();
    }

    /**
     * A member.
     *
     * @param index from 0 on
     * @return the endpoint
     * @throws IndexOutOfBoundsException if there is none of that number
     */
    public RdmaEndpoint member(int index) {
        return members.get(index);
    }

    private void ensureOneEach(List<?> parts) {
        if (parts.size() != members.size()) {
            throw new IllegalArgumentException("one part for each of " + members.size() + " members is wanted, not "
                    + parts.size());
        }
    }

    /** A call's operation on one member; the caller has {@link StackRoom} for all of them. */
    @FunctionalInterface
    private interface Begin {
        /** Begins it, for the member of that index. */
        Pending<Void> at(RdmaEndpoint member, int index) throws IOException;
    }

    private void forEach(Begin one) throws IOException {
        StackRoom.ensure();
        OperationScope scope = new OperationScope();
        try {
            for (int i = 0; i < members.size(); i++) {
                scope.add(one.at(members.get(i), i));
            }
        } catch (Throwable t) {
            try {
                scope.joinAll();
            } catch (IOException e) {
                t.addSuppressed(e);
            }
            throw t;
        }
        scope.joinAll();
    }

    /**
     * Sends a message of its own to each member.
     *
     * @param parts the messages, by member
     * @throws IOException if any cannot be sent
     */
    public void scatter(List<LocalRegion> parts) throws IOException {
        ensureOneEach(parts);
        forEach((member, i) -> member.beginMessage(parts.get(i), OptionalInt.empty()));
    }

    /**
     * Writes to the memory of each member.
     *
     * @param parts the bytes, by member
     * @param to the peers' memory where they go, by member
     * @throws IOException if any cannot be written
     */
    public void scatter(List<LocalRegion> parts, List<RemoteRegion> to) throws IOException {
        ensureOneEach(parts);
        ensureOneEach(to);
        forEach((member, i) -> member.beginWrite(parts.get(i), to.get(i), OptionalInt.empty()));
    }

    /**
     * Sends one message to all members.
     *
     * @param message the bytes
     * @throws IOException if any cannot be sent
     */
    public void multicast(LocalRegion message) throws IOException {
        forEach((member, i) -> member.beginMessage(message, OptionalInt.empty()));
    }

    /**
     * Waits for a message of each member.
     *
     * @param limit longest wait for all of them together
     * @return the messages, by member, to be closed
     * @throws IOException if one does not come; those that have come are closed
     */
    public List<Message> gather(Duration limit) throws IOException {
        StackRoom.ensure();
        List<Message> messages = new ArrayList<>();
        long deadline = NanoTimes.after(limit);
        try {
            for (RdmaEndpoint member : members) {
                messages.add(member.receiveUntil(deadline));
            }
            return messages;
        } catch (Throwable e) {
            messages.forEach(Message::close);
            throw e;
        }
    }

    /**
     * Reads from the memory of each member.
     *
     * @param into the memory of this end for the bytes, by member
     * @param from the peers' memory, by member
     * @throws IOException if any cannot be read
     */
    public void gather(List<LocalRegion> into, List<RemoteRegion> from) throws IOException {
        ensureOneEach(into);
        ensureOneEach(from);
        forEach((member, i) -> member.beginRead(into.get(i), from.get(i)));
    }
}
