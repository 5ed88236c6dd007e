package org.rdmasockets.internal.connection;

import java.util.Arrays;
import org.rdmasockets.internal.log.Log;

/**
 * The connections of an engine. Each tick visits those that attend: something is to be expected of them. A connection
 * that was quiet at two ticks is visited only in rounds of {@value #ROUND} ticks, until it attends again: thousands of
 * idle connections cost next to nothing.
 *
 * <p>A connection attends without a fence, after it has noted why: a note that the poller has overlooked because it was
 * still on its way is there at the next tick, and until then no connection stops attending.
 */
final class ConnectionRegistry {
    /** How many ticks a round of the quiet connections takes. */
    static final int ROUND = 16;

    private static final Log LOG = new Log(ConnectionRegistry.class);
    private static final int FEWEST_PLACES = 16;
    private static final int SPARSE = 4;
    /** Of a connection that is in no registry. */
    private static final int NO_PLACE = -1;

    /** A connection. */
    abstract static class Member {
        /** Where it stands; the registry's. */
        private int place = NO_PLACE;
        /** Whether it is visited at each tick; read without a lock, changed by the registry. */
        volatile boolean attending;

        /**
         * Poller thread, a few times a second, or each few seconds while this is quiet: looks for deadlines, without
         * blocking. False if it will do to look within {@link Engine#ROUND_NANOS} again, unless it attends before.
         */
        abstract boolean tick(long now);

        /** Bytes that the application has received so far. Any thread, which may see less. */
        long receivedBytes() {
            return 0;
        }

        /** Bytes that it has sent. Likewise. */
        long sentBytes() {
            return 0;
        }
    }

    /**
     * The attending ones come first, then the quiet ones visited in this round, then the other quiet ones; each knows
     * its place. Protected by this, as all that follows.
     */
    private Member[] members = new Member[FEWEST_PLACES];
    private int size;
    private int attending;
    /** How many of the quiet were visited in this round, or have been attending since it began. */
    private int visited;
    /** Bytes of connections that are no longer here. */
    private long receivedBefore;
    private long sentBefore;

    /** Takes a connection in; it attends. */
    synchronized void add(Member connection) {
        if (size == members.length) {
            members = Arrays.copyOf(members, 2 * size);
        }
        put(size++, connection);
        attendLocked(connection);
    }

    /** Takes a connection out, if it is in. */
    synchronized void remove(Member connection) {
        if (connection.place < 0) {
            return;
        }
        receivedBefore += connection.receivedBytes();
        sentBefore += connection.sentBytes();
        leave(connection);
        if (connection.place < attending + visited) {
            swap(connection.place, attending + --visited);
        }
        swap(connection.place, --size);
        members[size] = null;
        connection.place = NO_PLACE;
        if (members.length > FEWEST_PLACES && size < members.length / SPARSE) {
            members = Arrays.copyOf(members, members.length / 2);
        }
    }

    /** Has a connection visited at each tick from now on, if it is in. */
    void attend(Member connection) {
        if (!connection.attending) {
            attendLocked(connection);
        }
    }

    private synchronized void attendLocked(Member connection) {
        connection.attending = true;
        if (connection.place >= attending) {
            if (connection.place < attending + visited) {
                visited--;
            } else {
                swap(connection.place, attending + visited); // so that no visited one changes places with it
            }
            swap(connection.place, attending++);
        }
    }

    /** Has a connection visited in rounds only. */
    private void leave(Member connection) {
        connection.attending = false;
        if (connection.place < attending) {
            swap(connection.place, --attending);
            visited++;
        }
    }

    private synchronized void leaveUnlessAttending(Member connection) {
        if (!connection.attending && connection.place >= 0) {
            leave(connection);
        }
    }

    private void swap(int one, int other) {
        Member moved = members[one];
        put(one, members[other]);
        put(other, moved);
    }

    private void put(int place, Member connection) {
        members[place] = connection;
        connection.place = place;
    }

    synchronized int size() {
        return size;
    }

    /** Bytes that all connections have received, those too that are gone. */
    synchronized long receivedBytes() {
        long sum = receivedBefore;
        for (int i = 0; i < size; i++) {
            sum += members[i].receivedBytes();
        }
        return sum;
    }

    /** Bytes that they have sent. */
    synchronized long sentBytes() {
        long sum = sentBefore;
        for (int i = 0; i < size; i++) {
            sum += members[i].sentBytes();
        }
        return sum;
    }

    synchronized Member[] all() {
        return Arrays.copyOf(members, size);
    }

    /** Poller thread: visits the connections that attend, and the next of the others. */
    void tick(long now) {
        for (Member connection : due()) {
            boolean attends = true;
            try {
                attends = connection.tick(now);
            } catch (RuntimeException | Error e) {
                LOG.debug("a connection is looked at again at the next tick", e);
            }
            if (attends) {
                attend(connection);
            } else if (connection.attending) {
                connection.attending = false;
            } else {
                leaveUnlessAttending(connection);
            }
        }
    }

    private synchronized Member[] due() {
        int quiet = size - attending;
        int step = (quiet + ROUND - 1) / ROUND;
        int from = visited < quiet ? visited : 0;
        int to = Math.min(from + step, quiet);
        visited = to < quiet ? to : 0;
        Member[] due = Arrays.copyOf(members, attending + to - from);
        System.arraycopy(members, attending + from, due, attending, to - from);
        return due;
    }
}
