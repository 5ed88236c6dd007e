package org.rdmasockets.internal.rpc.call;

/** A method of a server. */
public sealed interface CallMethod {
    /** A request, an answer. It runs on a virtual thread, and on the one that reads while it proves quick. */
    final class Unary implements CallMethod {
        /** So many quick runs, one after the other, and a reader runs it itself. */
        private static final int PROOF = 16;
        /** After it was not quick for a reader, it has to prove itself so much longer. */
        private static final int DOUBT = 64;

        final Answering body;
        /** Runs a call whose request has not come as a whole, as {@link Begun} does; null if the body waits for it. */
        final Running otherwise;
        /** Whether its thread is interrupted when the call ends before it returns. */
        final boolean interrupted;
        /** Racy, but benign: quick runs yet to be seen, 0 if it has proved quick. */
        private int unproved = PROOF;

        /** A method; its thread is perhaps interrupted when the call ends before it returns. */
        public Unary(Answering body, boolean interrupted) {
            this(body, null, interrupted);
        }

        /** The same, where another body begins the calls whose request does not come as a whole. */
        public Unary(Answering body, Running otherwise, boolean interrupted) {
            this.body = body;
            this.otherwise = otherwise;
            this.interrupted = interrupted;
        }

        @Override
        public boolean needsWhole() {
            return otherwise != null;
        }

        /** Whether a reader may run it itself. */
        boolean isQuick() {
            return unproved == 0;
        }

        void ran(boolean quick) {
            int left = unproved;
            if (!quick) {
                unproved = Math.max(left, PROOF);
            } else if (left > 0) {
                unproved = left - 1;
            }
        }

        /** It held a reader up. */
        void wasSlow() {
            unproved = DOUBT;
        }
    }

    /** Any number of messages either way, on a virtual thread of its own. */
    record Streaming(Running body) implements CallMethod {}

    /**
     * Begins on the thread that reads, must not block, and finishes the call some time. Perhaps it takes no message
     * before the client has said that no other follows.
     */
    record Begun(Running body, boolean needsWhole) implements CallMethod {}

    /** Whether no message of a call is taken before its request is whole. */
    default boolean needsWhole() {
        return false;
    }

    /** Answers a request. */
    interface Answering {
        /** Answers, or throws, which is the status UNKNOWN, or finishes the call itself: null. */
        byte[] answer(CallStream call, byte[] request) throws Exception;
    }

    /** Runs a call. */
    interface Running {
        /** Runs it. */
        void run(CallStream call) throws Exception;
    }
}
