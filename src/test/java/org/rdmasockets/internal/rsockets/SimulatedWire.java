package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * Two queue pairs and what lies between them. Nothing happens by itself: the test chooses which step comes next, so
 * that any delay and any order of completions occurs that a device may produce. On InfiniBand a request completes after
 * it was executed at the peer; on iWARP it completes when it was queued, and arrives some time later.
 */
final class SimulatedWire {
    /** A completion on its way to its owner. */
    record Completion(long workRequestId, WorkCompletionStatus status, CompletionOpcode opcode, int lengthBytes,
            boolean hasImmediate, int immediate, long time) {
    }

    /** A request that left an iWARP queue pair and has not arrived. */
    private record Flight(FakeQueuePair.Send send, byte[] payload) {
    }

    /** One end of the wire. */
    final class End {
        final FakeQueuePair queuePair;
        private End peer;
        private WireRules sending;
        private final Deque<FakeQueuePair.Send> executed = new ArrayDeque<>();
        private final Deque<Flight> flights = new ArrayDeque<>();
        private final Deque<Completion> sendCompletions = new ArrayDeque<>();
        private final Deque<Completion> receiveCompletions = new ArrayDeque<>();
        private boolean dead;
        private boolean peerLeft;
        private boolean wasFull;

        private End(FakeQueuePair queuePair) {
            this.queuePair = queuePair;
        }

        /** Executes the oldest request that was not executed; false if there is none or it cannot be now. */
        boolean transmit() {
            FakeQueuePair.Send send = queuePair.sends.peek();
            if (send == null) {
                return false;
            }
            // iWARP's end of the connection comes after the data, as TCP has it.
            if (dead || peer.dead && peer.flights.isEmpty()) {
                breakOff(send);
                return true;
            }
            if (immediateData) {
                if (send.needsReceive() && peer.queuePair.receives.isEmpty()) {
                    receiverNotReady += wasFull ? 0 : 1;
                    wasFull = true;
                    return false;
                }
                wasFull = false;
                queuePair.sends.remove();
                arrive(send, send.payload());
                executed.add(send);
            } else {
                queuePair.sends.remove();
                flights.add(new Flight(send, send.payload()));
                if (!send.isRead()) {
                    complete(send, WorkCompletionStatus.SUCCESS);
                }
            }
            return true;
        }

        /** The peer is gone: the oldest request fails, and the queue pair with it. */
        private void breakOff(FakeQueuePair.Send send) {
            queuePair.sends.remove();
            complete(send, immediateData ? WorkCompletionStatus.RETRY_EXCEEDED
                    : WorkCompletionStatus.LOCAL_QUEUE_PAIR_OPERATION_ERROR);
            fail();
        }

        /** InfiniBand: the peer's device confirms. iWARP: something arrives there. False if nothing is on its way. */
        boolean proceed() {
            if (immediateData) {
                FakeQueuePair.Send send = executed.poll();
                if (send != null) {
                    complete(send, WorkCompletionStatus.SUCCESS);
                }
                return send != null;
            }
            Flight flight = flights.poll();
            if (flight != null && !peer.dead) {
                arrive(flight.send, flight.payload);
            }
            return flight != null;
        }

        private void arrive(FakeQueuePair.Send send, byte[] payload) {
            int message = send.immediate;
            words += sending == null && (send.isWrite() ? isWaiting(message) : payload.length > 0) ? 1 : 0;
            if (send.isRead()) {
                reads++;
                read(send);
            } else if (send.isWrite()) {
                write(send, payload);
            } else if (!send.hasImmediate()) {
                message = ByteBuffer.wrap(payload).order(ByteOrder.nativeOrder()).getInt();
            }
            if (!send.needsReceive()) {
                return;
            }
            if (sending != null) {
                sending.messageFromSender(message);
                peer.sending.messageFromReceiver(message);
            }
            FakeQueuePair.Receive receive = peer.queuePair.receives.poll();
            if (receive == null) {
                throw new AssertionError("a message without a posted receive breaks an iWARP connection");
            }
            CompletionOpcode opcode = CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE;
            if (!send.isWrite()) {
                receive.fill(payload);
                opcode = CompletionOpcode.RECEIVE;
            }
            peer.receiveCompletions.add(new Completion(receive.workRequestId(), WorkCompletionStatus.SUCCESS, opcode,
                    payload.length, send.hasImmediate(), send.immediate, time++));
        }

        private static boolean isWaiting(int message) {
            return ImmediateData.operation(message) == ImmediateData.CONTROL
                    && ImmediateData.argument(message) >= ImmediateData.BLOCKED_BY_BYTES;
        }

        /** The answer of the peer's device; on iWARP, too, a read completes when it is there. */
        private void read(FakeQueuePair.Send send) {
            SimulatedRegion region = peer.queuePair.byRemoteKey(send.remoteKey);
            if (region == null || !region.access().contains(AccessFlag.REMOTE_READ)) {
                throw new AssertionError("read with a wrong key");
            }
            send.fill(region.at(send.remoteAddress, send.readBytes()).toArray(ValueLayout.JAVA_BYTE));
            if (!immediateData) {
                complete(send, WorkCompletionStatus.SUCCESS);
            }
        }

        private void write(FakeQueuePair.Send send, byte[] payload) {
            if (payload.length == 0) {
                return;
            }
            SimulatedRegion region = peer.queuePair.byRemoteKey(send.remoteKey);
            if (region == null || !region.access().contains(AccessFlag.REMOTE_WRITE)) {
                throw new AssertionError("write with a wrong key");
            }
            region.at(send.remoteAddress, payload.length).copyFrom(MemorySegment.ofArray(payload));
            if (sending == null) {
                return;
            }
            boolean beside = peer.sending.isMapped(send.remoteAddress, payload.length)
                    || sending.mapWritten(send.remoteAddress, payload);
            if (!beside && !peer.sending.tableWritten(send.remoteAddress, payload)) {
                sending.dataWritten(send.remoteAddress, payload.length);
            }
        }

        private void complete(FakeQueuePair.Send send, WorkCompletionStatus status) {
            if (send.signalled || status != WorkCompletionStatus.SUCCESS) {
                sendCompletions.add(new Completion(send.workRequestId, status,
                        send.isWrite() ? CompletionOpcode.WRITE : CompletionOpcode.SEND, 0, false, 0, time++));
            }
        }

        /** Moves to the error state: everything outstanding is flushed. Messages that left before arrive. */
        void fail() {
            dead = true;
            executed.forEach(s -> complete(s, WorkCompletionStatus.FLUSHED));
            executed.clear();
            queuePair.sends.forEach(s -> complete(s, WorkCompletionStatus.FLUSHED));
            queuePair.sends.clear();
            queuePair.receives.forEach(r -> receiveCompletions.add(new Completion(r.workRequestId(),
                    WorkCompletionStatus.FLUSHED, CompletionOpcode.UNKNOWN, 0, false, 0, time++)));
            queuePair.receives.clear();
        }

        /** Destroys the queue pair; the peer's connection manager will tell. */
        void destroy() {
            fail();
            peer.peerLeft = true;
        }

        /**
         * Takes a completion. Sends and receives complete in any order to each other, but what failed came after all
         * that arrived before.
         */
        Completion poll(Random random) {
            Completion send = sendCompletions.peek();
            Completion receive = receiveCompletions.peek();
            boolean receiveFirst = send == null || receive != null
                    && (send.status == WorkCompletionStatus.SUCCESS ? random.nextBoolean() : receive.time < send.time);
            Completion next = receiveFirst ? receiveCompletions.poll() : sendCompletions.poll();
            if (next != null) {
                if (receiveFirst) {
                    queuePair.retireReceive();
                } else {
                    queuePair.retireSend(next.workRequestId());
                }
            }
            return next;
        }

        /** True once, when the connection manager has told that the peer left and nothing else is to be delivered. */
        boolean takePeerLeft() {
            boolean tell = peerLeft && peer.flights.isEmpty() && sendCompletions.isEmpty()
                    && receiveCompletions.isEmpty();
            peerLeft = peerLeft && !tell;
            return tell;
        }

        boolean isDead() {
            return dead;
        }

        /** Its activity on the wire, in words. */
        String activity() {
            return String.valueOf(sending);
        }
    }

    private final boolean immediateData;
    final End left;
    final End right;
    private int receiverNotReady;
    private int reads;
    private int words;
    private long time;

    SimulatedWire(boolean immediateData, FakeQueuePair left, FakeQueuePair right) {
        this.immediateData = immediateData;
        this.left = new End(left);
        this.right = new End(right);
        this.left.peer = this.right;
        this.right.peer = this.left;
    }

    /** Begins to watch the rules, which are those of rsockets' own flow. */
    void connect(ConnectData leftData, ConnectData rightData) {
        if (leftData.flow() == rightData.flow() && leftData.flow() != FlowKind.CREDIT_RING) {
            return;
        }
        left.sending = new WireRules("left to right", leftData, rightData);
        right.sending = new WireRules("right to left", rightData, leftData);
    }

    /** How often an end moved to a chunk that was offered. */
    int moves() {
        return left.sending == null ? 0 : left.sending.moves() + right.sending.moves();
    }

    /** How often an end read how far the other is. */
    int reads() {
        return reads;
    }

    /** How often, in another flow than rsockets', an end said that it waits or woke the other, or sent a message. */
    int words() {
        return words;
    }

    /** How often a message found no receive on InfiniBand; each costs 655 ms there. */
    int receiverNotReady() {
        return receiverNotReady;
    }
}
