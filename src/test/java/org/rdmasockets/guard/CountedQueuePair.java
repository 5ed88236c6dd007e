package org.rdmasockets.guard;

import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/**
 * Counts what is posted. A byte that is posted from registered memory was copied there, unless that is the
 * application's; one that is posted from an array, or inline, or on a device that copies all, is copied by the post.
 *
 * @param target does the work
 * @param copiesAtPost whether the device copies what is posted
 * @param counts where to count
 */
record CountedQueuePair(QueuePair target, boolean copiesAtPost, Counts counts) implements QueuePair {
    @Override
    public int postSend(SendRequest request) {
        int result = target.postSend(request);
        long registered = request.elements().totalBytes();
        boolean signOfLife = request.opcode() == SendRequest.Opcode.WRITE && registered + request.bytesLength() == 0;
        counts.add(signOfLife ? Counts.What.SIGN_OF_LIFE : Counts.What.POST_SEND, 1);
        counts.add(Counts.What.PAYLOADS, registered + request.bytesLength() > 0 ? 1 : 0);
        counts.add(Counts.What.PAYLOAD_BYTES, registered + request.bytesLength());
        counts.add(Counts.What.COPIED_BYTES, (counts.isOwn(request.elements()) ? 0 : registered) + request.bytesLength()
                + (request.isInline() || copiesAtPost ? registered : 0));
        return result;
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        counts.add(Counts.What.POST_RECEIVE, 1);
        return target.postReceive(request);
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        counts.add(Counts.What.POST_RECEIVE, 1);
        return target.postReceives(request, firstWorkRequestId, count);
    }

    @Override
    public int number() {
        return target.number();
    }

    @Override
    public QueuePairConfig config() {
        return target.config();
    }

    @Override
    public int maxInlineBytes() {
        return target.maxInlineBytes();
    }

    @Override
    public QueuePairState queryState() throws VerbsException {
        return target.queryState();
    }

    @Override
    public QueuePairType type() {
        return target.type();
    }

    @Override
    public int maxDatagramBytes() {
        return target.maxDatagramBytes();
    }

    @Override
    public QueuePairState state() {
        return target.state();
    }

    @Override
    public QueuePairAttributes query() throws VerbsException {
        return target.query();
    }

    @Override
    public void modify(QueuePairAttributes attributes) throws VerbsException {
        target.modify(attributes);
    }

    @Override
    public void fail() throws VerbsException {
        target.fail();
    }

    @Override
    public void close() {
        target.close();
    }
}
