package org.rdmasockets.internal.connection;

import java.util.Arrays;
import org.rdmasockets.internal.log.Log;

/**
 * The connections of an engine. Each tick visits those that attend: something is expected of them. A connection that
 * was quiet at two ticks is visited only at each {@value #ROUND}th, until it attends again: so thousands of idle
 * connections cost next to nothing.
 *
 * <p>A connection attends without a fence, after it has noted why. The poller may overlook a note that is still on its
 * way: it sees the note at the next tick, and until then no connection stops attending.
 */
final class ConnectionRegistry {
    /** A quiet connection is visited at one of this many ticks. */
    static final int ROUND = 16;

    private static final Log LOG = new Log(ConnectionRegistry.class);
    private static final int FEWEST_PLACES = 16;
    private static final int SPARSE = 4;
    /** The place of a connection that is in no registry. */
    private static final int NO_PLACE = -1;
    /** Visits of a connection that attends, from when it has become quiet. */
    private static final byte VISITS = 2;

    /** A connection. */
    abstract static class Member {
        /** Where it stands; the registry's. */
        private int place = NO_PLACE;
        /** How many ticks visit it, if it stays quiet, before it is visited in its turn only; the registry's. */
        private volatile byte visits;

        /**
         * Poller thread, a few times a second, or every few seconds while this is quiet: looks for deadlines, without
         * blocking. False if the next look may be {@link Engine#ROUND_NANOS} later, unless it attends before.
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

    /** In any order; each knows its place. Protected by this, as all that follows. */
    private Member[] members = new Member[FEWEST_PLACES];
    private int size;
    /** Bytes of connections that are no longer here. */
    private long receivedBefore;
    private long sentBefore;
    /** Each tick visits the places that leave this remainder by {@link #ROUND}; poller thread only. */
    private int turn;

    /** Adds a connection, which attends. */
    synchronized void add(Member connection) {
        if (size == members.length) {
            members = Arrays.copyOf(members, 2 * size);
        }
        connection.place = size;
        connection.visits = VISITS;
        members[size++] = connection;
    }

    /** Removes a connection, if it is here. */
    synchronized void remove(Member connection) {
        if (connection.place < 0) {
            return;
        }
        receivedBefore += connection.receivedBytes();
        sentBefore += connection.sentBytes();
        Member last = members[--size];
        members[connection.place] = last;
        last.place = connection.place;
        last.visits = (byte) Math.max(1, last.visits); // the turn of its new place may be over
        members[size] = null;
        connection.place = NO_PLACE;
        if (members.length > FEWEST_PLACES && size < members.length / SPARSE) {
            members = Arrays.copyOf(members, members.length / 2);
        }
    }

    /** Has a connection visited at each tick from now on, if it is here. */
    void attend(Member connection) {
        if (connection.visits < VISITS) {
            synchronized (this) {
                connection.visits = VISITS;
            }
        }
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

    /** Poller thread: visits the connections that attend, and the others whose turn it is. */
    void tick(long now) {
        turn = (turn + 1) % ROUND;
        Member[] all = all();
        for (int place = 0; place < all.length; place++) {
            if (all[place].visits > 0 || place % ROUND == turn) {
                visit(all[place], now);
            }
        }
    }

    private void visit(Member connection, long now) {
        boolean attends = true;
        try {
            attends = connection.tick(now);
        } catch (RuntimeException | Error e) {
            LOG.debug("a connection is looked at again at the next tick", e);
        }
        if (attends) {
            attend(connection);
        } else if (connection.visits > 0) {
            synchronized (this) {
                connection.visits--;
            }
        }
    }
}
