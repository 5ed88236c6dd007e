package org.rdmasockets.contract;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * A process of its own that accepts connections, each served by a thread that sleeps while nothing comes. The first
 * byte of the request's private data says how; the answer's tells where this end's region is.
 */
final class FarEnd {
    /** Sends back what comes, in receives of {@link #SMALL} bytes. */
    static final byte ECHO = 'e';
    /** Sends back what comes, in one receive of {@link #LARGE} bytes. */
    static final byte ECHO_LARGE = 'l';
    /** Posts no receive. */
    static final byte SILENT = 's';
    /** At the first receive, writes it with immediate data 77 to the region that the request names. */
    static final byte WRITE = 'w';
    /** Bytes of a receive. */
    static final int SMALL = 1024;
    static final int LARGE = 48 * 1024;
    /** Where the receives of {@link #ECHO} begin in the region. */
    static final int RECEIVES_OFFSET = 32 * 1024;
    static final int IMMEDIATE = 77;

    private final VerbsProvider provider = Providers.sharedMemory();
    private final byte mode;
    private final ByteBuffer asked;
    private final CompletionQueue queue;
    private final CompletionChannel channel;
    private final EventPoller poller;
    private final End end;

    private FarEnd(ConnectRequest request) throws VerbsException {
        asked = ByteBuffer.wrap(request.parameters().privateData());
        mode = asked.get();
        channel = request.identifier().device().createCompletionChannel();
        queue = request.identifier().device().createCompletionQueue(End.SENDS + End.RECEIVES, channel);
        poller = provider.createEventPoller();
        poller.add(channel);
        ConnectionEvents events = new ConnectionEvents();
        request.identifier().handler((identifier, event) -> {
            events.onEvent(identifier, event);
            if (event instanceof Disconnected) {
                poller.close();
            }
        });
        end = new End(request.identifier(), events, queue);
        switch (mode) {
            case ECHO, WRITE -> {
                for (int i = 0; i < End.RECEIVES; i++) {
                    end.postReceive(i, RECEIVES_OFFSET + i * SMALL, SMALL);
                }
            }
            case ECHO_LARGE -> end.postReceive(0, 0, LARGE);
            default -> {
            }
        }
        byte[] where = ByteBuffer.allocate(12).putLong(end.region.address()).putInt(end.region.remoteKey()).array();
        request.identifier().accept(new ConnectionParameters(where, 1, 1, 6, 7));
    }

    /** Serves until the other end has gone, or something failed. */
    private void serve() throws VerbsException {
        WorkCompletions batch = queue.newBatch(4);
        try {
            while (true) {
                queue.requestNotification();
                for (int n = queue.poll(batch); n > 0; n = queue.poll(batch)) {
                    for (int i = 0; i < n; i++) {
                        answer(End.copy(batch, i));
                    }
                }
                poller.await(-1, source -> drain());
            }
        } finally {
            end.close();
            queue.close();
            channel.close();
        }
    }

    private void drain() {
        try {
            channel.drainEvents(armed -> { });
        } catch (VerbsException e) {
            throw new AssertionError(e);
        }
    }

    private void answer(End.Done done) {
        if (done.status() != WorkCompletionStatus.SUCCESS || !done.opcode().isReceive()) {
            return;
        }
        int offset = mode == ECHO_LARGE ? 0 : RECEIVES_OFFSET + (int) done.id() * SMALL;
        if (done.opcode() == CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE) {
            end.send.send(1).immediate(done.immediate());
        } else if (mode == WRITE) {
            end.send.write(1, asked.getLong(), asked.getInt()).immediate(IMMEDIATE)
                    .add(end.region, offset, done.lengthBytes());
        } else {
            end.send.send(1).add(end.region, offset, done.lengthBytes());
        }
        // Before the receive is posted again: what is posted is copied, so the memory is free.
        if (end.queuePair.postSend(end.send) == QueuePair.POSTED) {
            end.postReceive(done.id(), offset, mode == ECHO_LARGE ? LARGE : SMALL);
        }
    }

    static void main(String[] arguments) throws Exception {
        EventLoop loop = new EventLoop(Providers.sharedMemory());
        var listener = Pair.listen(loop, InetAddress.ofLiteral("127.0.0.1"), (identifier, event) ->
                Thread.ofPlatform().daemon().start(() -> serve((ConnectRequest) event)));
        System.out.println(listener.localAddress().getPort());
        while (System.in.read() >= 0) {
            continue;
        }
    }

    private static void serve(ConnectRequest request) {
        try {
            new FarEnd(request).serve();
        } catch (VerbsException e) {
            // The poller was closed because the other end has gone, or it went while it was accepted.
            System.out.println(e.getMessage());
        }
    }
}
