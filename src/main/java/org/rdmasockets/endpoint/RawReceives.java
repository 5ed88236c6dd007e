package org.rdmasockets.endpoint;

import java.util.OptionalInt;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;

/** The receive queue of a raw connection: receives that the application has posted. Protected by the protocol lock. */
final class RawReceives implements Receives {
    private final QueuePair queuePair;
    private final long idBase;
    private final ReceiveRequest request = new ReceiveRequest(1);
    private final Posted[] posted;
    private EndpointException end;

    private record Posted(LocalRegion region, RangeLocks.Hold hold, Pending<RawMessage> pending) {}

    RawReceives(QueuePair queuePair, long idBase) {
        this.queuePair = queuePair;
        this.idBase = idBase;
        posted = new Posted[queuePair.config().maxReceives()];
    }

    /** Posts a receive into a region; throws if there are too many already, or the device refuses. */
    void post(LocalRegion region, Pending<RawMessage> pending) throws EndpointException {
        if (end != null) {
            throw end.again();
        }
        int index = freeIndex();
        posted[index] = new Posted(region, region.hold(true, "raw receive"), pending); // the device's from here
        int result = queuePair.postReceive(request.receive(idBase | index)
                .add(region.block.region, region.offset(), (int) region.length()));
        if (result != QueuePair.POSTED) {
            take(index);
            throw EndpointException.ofPost("ibv_post_recv", result);
        }
    }

    private int freeIndex() throws EndpointException {
        for (int i = 0; i < posted.length; i++) {
            if (posted[i] == null) {
                return i;
            }
        }
        throw new EndpointException(EndpointException.Reason.LIMIT, "all " + posted.length
                + " receives are posted: make the receive queue larger");
    }

    @Override
    public void completed(int index, Completion completion) {
        Posted one = take(index);
        boolean write = completion.opcode() == CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE;
        OptionalInt immediate = completion.hasImmediate() ? OptionalInt.of(completion.immediate())
                : OptionalInt.empty();
        one.pending.complete(new RawMessage(one.region, write ? 0 : completion.lengthBytes(), immediate, write));
    }

    private Posted take(int index) {
        Posted one = posted[index];
        posted[index] = null;
        one.hold.release();
        return one;
    }

    @Override
    public void flushed(int index) {
        if (posted[index] != null) { // else it completes a second time
            take(index);
        }
    }

    @Override
    public void end(EndpointException reason) {
        end = reason;
        for (Posted one : posted) {
            if (one != null) {
                one.pending.fail(reason);
            }
        }
    }

    @Override
    public void releaseAll() {
        for (int i = 0; i < posted.length; i++) {
            if (posted[i] != null) {
                take(i);
            }
        }
    }
}
