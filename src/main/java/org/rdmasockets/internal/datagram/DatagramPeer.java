package org.rdmasockets.internal.datagram;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.AddressHandle;

/** A socket's knowledge of a peer that speaks, or may speak, rsockets' datagrams. Any thread may call anything. */
final class DatagramPeer {
    /** How long a queue pair may be silent before it is asked for again, by a datagram over UDP. */
    private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long a peer may leave the question unanswered before it is forgotten. */
    private static final long FORGET_NANOS = TimeUnit.SECONDS.toNanos(5);

    final InetSocketAddress address;
    /** The peer's queue pair, 0 while unknown; guarded by this, as are all fields below. */
    private int number;
    /** When the queue pair was last heard of, whether it was asked for since, and when first. */
    private long heardNanos;
    private boolean asked;
    private long askedNanos;
    /** This host's queue pair that leads there, null while unknown. */
    private DatagramQueue queue;
    /** The way from there, null while there is none. */
    private AddressHandle handle;
    private boolean making;
    /** Sends under way, which need the handle; an old one is closed by the last. */
    private int sending;
    private boolean retired;

    DatagramPeer(InetSocketAddress address) {
        this.address = address;
    }

    synchronized void heard(int newNumber, long nowNanos) {
        number = newNumber;
        heardNanos = nowNanos;
        asked = false;
    }

    /**
     * Whether it may be sent such datagrams. Not if it stays silent after it was asked: another program may be there by
     * now.
     */
    synchronized boolean isKnown(long nowNanos) {
        return number != 0 && !(asked && nowNanos - askedNanos > FORGET_NANOS);
    }

    synchronized DatagramQueue queue() {
        return queue != null && queue.isOpen() ? queue : null;
    }

    void queue(DatagramQueue newQueue) {
        AddressHandle old = null;
        synchronized (this) {
            if (queue != newQueue) {
                queue = newQueue;
                old = handle;
                handle = null;
            }
        }
        if (old != null) {
            old.close(); // of a failed queue, which sends nothing any more
        }
    }

    /** Begins a send by the peer's queue pair, and {@link #sent} has to follow; 0 if the datagram goes over UDP. */
    synchronized int begin(long nowNanos) {
        if (handle == null || number == 0 || retired) {
            return 0;
        }
        if (!asked && nowNanos - heardNanos > ASK_NANOS) {
            asked = true; // this datagram asks
            askedNanos = nowNanos;
            return 0;
        }
        if (asked && nowNanos - askedNanos > ASK_NANOS) {
            return 0;
        }
        sending++;
        return number;
    }

    /** Whether a handle has to be made, by the caller. */
    synchronized boolean wantsHandle() {
        boolean wants = number != 0 && handle == null && !making && !retired;
        making |= wants;
        return wants;
    }

    /** Ends the making that {@link #wantsHandle} began; null if it failed. */
    void made(DatagramQueue from, AddressHandle newHandle) {
        boolean keep;
        synchronized (this) {
            making = false;
            keep = newHandle != null && !retired && queue == from && handle == null;
            if (keep) {
                handle = newHandle;
            }
        }
        if (!keep && newHandle != null) {
            newHandle.close();
        }
    }

    /** The handle, for a thread that has begun a send. */
    synchronized AddressHandle handle() {
        return handle;
    }

    /** A send has completed, or was not posted. */
    void sent() {
        AddressHandle old = null;
        synchronized (this) {
            sending--;
            if (retired && sending == 0) {
                old = handle;
                handle = null;
            }
        }
        if (old != null) {
            old.close();
        }
    }

    /** Forgets the handle, after the last send that needs it. */
    void retire() {
        synchronized (this) {
            retired = true;
            sending++;
        }
        sent();
    }
}
