package org.rdmasockets.internal.waiting;

import java.util.concurrent.TimeUnit;

/**
 * Fills the heap but for so many bytes, offers to an inbox, and then offers again with memory. Prints whether the last
 * offer ended; the argument is the number of bytes.
 */
final class GrowthMain {
    private static final int MAX_PIECE = 1 << 20;
    private static final int OFFERS = 8;
    private static byte[] spare;

    private GrowthMain() {
    }

    public static void main(String[] args) throws Exception {
        Fixture fixture = Fixture.parking();
        CompletionInbox inbox = fixture.open(new TestClient());
        Completion completion = new Completion("token");
        inbox.put(completion);
        inbox.enter();
        inbox.exit();
        spare = new byte[Integer.parseInt(args[0])];
        fillThenOffer(inbox, completion);
        Thread last = Thread.ofPlatform().daemon().start(() -> inbox.put(completion));
        last.join(TimeUnit.SECONDS.toMillis(Fixture.SECONDS_TO_WAIT));
        System.out.println(last.isAlive() ? "the last offer does not end" : "offered");
        Runtime.getRuntime().halt(0);
    }

    private static void fillThenOffer(CompletionInbox inbox, Completion completion) {
        Object[] chain = null;
        for (int length = MAX_PIECE; length >= 1; length /= 2) {
            try {
                while (true) {
                    Object[] more = new Object[length];
                    more[0] = chain;
                    chain = more;
                }
            } catch (OutOfMemoryError e) {
                continue;
            }
        }
        spare = null;
        try {
            for (int i = 0; i < OFFERS; i++) {
                inbox.put(completion);
            }
        } catch (OutOfMemoryError e) {
            return; // allowed
        }
    }
}
