package org.rdmasockets.overflow;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Callable;
import org.rdmasockets.contract.End;
import org.rdmasockets.contract.EventLoop;
import org.rdmasockets.contract.Pair;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.DmaBuffer;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletions;

/** Objects of the verbs over shared memory. */
final class VerbsScene extends Scene {
    private static final InetAddress ADDRESS = InetAddress.ofLiteral("127.0.0.1");
    private static final int LENGTH = 64;

    private final VerbsProvider provider = new SharedMemoryProvider();
    private final EventLoop loop = new EventLoop(provider);
    private final Pair others = new Pair(loop, ADDRESS);

    VerbsScene() throws VerbsException {
    }

    private static void talk(Pair pair) throws VerbsException {
        write(pair.active, pair.passive);
        write(pair.passive, pair.active);
    }

    private static void write(End from, End to) throws VerbsException {
        from.send.write(1, to.region.address(), to.region.remoteKey()).add(from.region, 0, LENGTH).signalled();
        from.postSend();
        from.awaitSuccess(1);
    }

    @Override
    void bystanders() throws VerbsException {
        talk(others);
    }

    @Override
    void newcomer() throws VerbsException {
        try (Pair one = new Pair(loop, ADDRESS)) {
            talk(one);
        }
    }

    /** One end of a connection, and what its objects are given. */
    private End subject() throws VerbsException {
        End end = keep(new Pair(loop, ADDRESS)).active;
        CompletionChannel channel = keep(end.device.createCompletionChannel());
        SharedReceiveQueue receives = keep(end.domain.createSharedReceiveQueue(2, 1));
        end.receive.receive(1).add(end.region, 0, LENGTH);
        end.send.send(1).add(end.region, 0, LENGTH);
        ScatterGatherList elements = end.send.elements();
        WorkCompletions batch = end.queue.newBatch(2);
        ConnectionHandler handler = (identifier, event) -> { };
        QueuePairAttributes.Path path = new QueuePairAttributes.Path(end.device.gid(1, 0), 0, 1, 0, 0, 0, 0);
        AddressHandle address = keep(end.domain.createAddressHandle(1, path));
        for (Object one : List.of(path, address, new DmaBuffer(0, 0, 1, 0), channel, receives, end.receive, end.send,
                elements, batch, handler, end.identifier, end.domain, end.queue, end.region, end.queuePair,
                End.config(end.queue), new QueuePairAttributes(), new ConnectionParameters(new byte[1], 1, 1, 1, 1),
                new InetSocketAddress(ADDRESS, 1), loop.manager())) {
            value(() -> one);
        }
        return end;
    }

    /** Something of an end. */
    @FunctionalInterface
    private interface Part {
        Object of(End end) throws Exception;
    }

    private Subject part(Part part, String... left) {
        End[] last = new End[1];
        Callable<Object> make = () -> {
            last[0] = subject();
            return part.of(last[0]);
        };
        return new Subject(make, one -> last[0].queue.poll(last[0].queue.newBatch(1)), left);
    }

    @Override
    List<Subject> subjects() {
        return List.of(part(end -> provider, "createEventPoller", "createConnectionManager"),
                part(end -> end.device, "close"), part(end -> end.domain), part(end -> end.identifier),
                part(end -> end.queue), part(end -> end.queuePair), part(end -> end.region),
                part(end -> end.send, "bind"),
                part(end -> end.receive), part(end -> end.send.elements()),
                part(end -> keep(end.device.createCompletionChannel())),
                part(end -> keep(end.domain.createSharedReceiveQueue(2, 1))),
                part(end -> keep(provider.createEventPoller())),
                part(end -> keep(provider.createConnectionManager())));
    }

    @Override
    void end() throws Exception {
        super.end();
        others.close();
        loop.close();
    }
}
