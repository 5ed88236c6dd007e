package org.rdmasockets.overflow;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.OperationScope;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointBuilder;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.endpoint.RdmaGroup;
import org.rdmasockets.endpoint.RdmaNode;
import org.rdmasockets.endpoint.RemoteRegion;
import org.rdmasockets.verbs.AccessFlag;

/** Endpoints over shared memory. */
final class EndpointScene extends Scene {
    private static final int BYTES = 64;
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Set<AccessFlag> ALL = Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC);

    private final RdmaEndpointServer listener;
    private final List<RdmaEndpoint> others = new ArrayList<>();

    EndpointScene() throws IOException {
        listener = builder().listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofVirtual().start(this::accept);
        for (int i = 0; i < 4; i++) {
            others.add(connect());
        }
    }

    private static RdmaEndpointBuilder builder() {
        return RdmaEndpoint.builder().device("sharedmemory").answerTimeout(Duration.ofSeconds(5))
                .remoteMemory(1 << 20);
    }

    private RdmaEndpoint connect() throws IOException {
        return builder().connect(listener.localAddress());
    }

    private void accept() {
        try {
            while (true) {
                RdmaEndpoint one = listener.accept();
                Thread.ofVirtual().start(() -> echo(one));
            }
        } catch (IOException e) {
            return; // closed
        }
    }

    private static void echo(RdmaEndpoint one) {
        try (one) {
            while (true) {
                one.receive().close();
                LocalRegion answer = one.allocate(BYTES);
                one.send(answer, 1);
                answer.close();
            }
        } catch (IOException e) {
            return; // closed by the other end
        }
    }

    private static void talk(RdmaEndpoint one) throws IOException {
        LocalRegion region = one.allocate(BYTES);
        one.send(region);
        try (Message message = one.receive(PATIENCE)) {
            Assertions.assertEquals(BYTES, message.length());
        }
        region.close();
    }

    @Override
    void bystanders() throws IOException {
        for (RdmaEndpoint one : others) {
            talk(one);
        }
    }

    @Override
    void newcomer() throws IOException {
        try (RdmaEndpoint one = connect()) {
            talk(one);
        }
    }

    private RdmaEndpoint subject() throws IOException {
        RdmaEndpoint made = keep(connect());
        LocalRegion memory = others.getFirst().allocate(BYTES, BYTES, ALL);
        LocalRegion own = made.allocate(BYTES, BYTES, ALL);
        value(() -> own);
        value(() -> made.startSend(own));
        value(memory::remote);
        for (int i = 0; i < 8; i++) {
            made.send(own);
        }
        return made;
    }

    /** Sends and receives what there is; it has ended or goes on. */
    private static void use(RdmaEndpoint one) throws IOException {
        LocalRegion region = one.allocate(BYTES);
        one.send(region);
        one.receive(PATIENCE).close();
    }

    private RdmaGroup group() throws IOException {
        RdmaEndpoint first = subject();
        RdmaEndpoint second = keep(connect());
        List<LocalRegion> parts = List.of(first.allocate(BYTES), second.allocate(BYTES));
        value(() -> parts);
        List<RemoteRegion> there = List.of(others.getFirst().allocate(BYTES, BYTES, ALL).remote(),
                others.getLast().allocate(BYTES, BYTES, ALL).remote());
        value(() -> there);
        return new RdmaGroup(List.of(first, second));
    }

    /** The first of two nodes; the other one is there. */
    private RdmaNode node() throws Exception {
        List<InetSocketAddress> nodes = FreePorts.next(InetAddress.getLoopbackAddress(), 2);
        Call<RdmaNode> other = Call.start(ThreadKind.VIRTUAL, "node", () -> RdmaNode.join(builder(),
                InetAddress.getLoopbackAddress(), nodes, 1, PATIENCE));
        RdmaNode made = keep(RdmaNode.join(builder(), InetAddress.getLoopbackAddress(), nodes, 0, PATIENCE));
        keep(other.result());
        value(EndpointScene::builder);
        value(() -> nodes);
        value(() -> List.of(0, 1));
        return made;
    }

    @Override
    List<Subject> subjects() {
        RdmaEndpoint[] last = new RdmaEndpoint[1];
        String[] waiting = {"receive/0", "receiveImmediate/0", "receiveShared/0", "receiveHandedOver/0",
            "handOver", "receiveRaw"};
        return List.of(new Subject(this::subject, one -> use((RdmaEndpoint) one), waiting),
                new Subject(() -> {
                    last[0] = subject();
                    return last[0].allocate(BYTES, BYTES, ALL);
                }, one -> use(last[0])),
                new Subject(() -> {
                    last[0] = subject();
                    return last[0].startSend(last[0].allocate(BYTES));
                }, one -> use(last[0])),
                new Subject(() -> {
                    last[0] = subject();
                    return last[0].receive(PATIENCE);
                }, one -> use(last[0])),
                new Subject(() -> {
                    last[0] = subject();
                    return new OperationScope();
                }, one -> use(last[0])),
                new Subject(() -> {
                    last[0] = subject();
                    return last[0].requestRemote(BYTES);
                }, one -> use(last[0])),
                new Subject(this::group, one -> use(((RdmaGroup) one).member(0))),
                new Subject(this::node, one -> ((RdmaNode) one).peer(1).sendImmediate(1)),
                new Subject(() -> {
                    value(listener::localAddress);
                    return builder();
                }, one -> ((RdmaEndpointBuilder) one).device("sharedmemory").connect(listener.localAddress()).close(),
                        "connect/2"),
                new Subject(() -> keep(builder().listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))),
                        one -> ((RdmaEndpointServer) one).localAddress(), "accept/0"));
    }

    @Override
    void end() throws Exception {
        super.end();
        others.forEach(RdmaEndpoint::close);
        listener.close();
    }
}
