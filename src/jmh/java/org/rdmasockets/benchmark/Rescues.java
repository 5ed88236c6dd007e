package org.rdmasockets.benchmark;

import org.rdmasockets.TransportCounters;

/** Wake-ups that came late: a timer or a periodic look of the library found what a wake-up should have told. */
final class Rescues {
    private Rescues() {
    }

    /** How many this process has counted since it began, over all transports. */
    static long rescues() {
        return TransportCounters.rescues();
    }
}
