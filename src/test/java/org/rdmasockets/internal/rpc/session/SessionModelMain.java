package org.rdmasockets.internal.rpc.session;

import java.util.Random;

/** The long run of the model test, by itself. */
final class SessionModelMain {
    private static final int RUN_PACKETS = 1_000_000;

    private SessionModelMain() {
    }

    /** Runs so many packets as the test's property says, 10 million without it. */
    static void main() {
        long left = Long.getLong("org.rdmasockets.test.packets", 10_000_000);
        long seed = Long.getLong("org.rdmasockets.test.seed", new Random().nextInt());
        for (; left > 0; left -= RUN_PACKETS) {
            System.out.println("seed " + seed + ", " + left + " packets to go");
            SessionModelTest.run(seed++, Math.min(left, RUN_PACKETS), 10, 5, 1);
        }
        System.out.println("nothing was lost, repeated, reordered or damaged");
    }
}
