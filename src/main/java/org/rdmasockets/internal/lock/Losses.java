package org.rdmasockets.internal.lock;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what this process has lost of packets that may be lost: datagrams that found no room, and packets of sessions
 * that had to be sent again. Any thread may count and read.
 */
public final class Losses {
    private static final LongAdder DATAGRAMS = new LongAdder();
    private static final LongAdder PACKETS = new LongAdder();

    private Losses() {}

    /** A datagram was dropped, at its receiver's or in front of it, because there was no room. */
    public static void datagram() {
        DATAGRAMS.increment();
    }

    /** A packet of a session counts as lost, and is sent again. */
    public static void packet() {
        PACKETS.increment();
    }

    /** Datagrams that were dropped since the process began, without those of UDP, which the kernel drops. */
    public static long datagrams() {
        return DATAGRAMS.sum();
    }

    /** Packets of sessions that were sent again since the process began. */
    public static long packets() {
        return PACKETS.sum();
    }
}
