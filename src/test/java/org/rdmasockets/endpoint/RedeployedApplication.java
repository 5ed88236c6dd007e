package org.rdmasockets.endpoint;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.function.BiConsumer;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;

/** The first user of the library in its JVM, in a class loader of its own. */
public final class RedeployedApplication implements BiConsumer<String, Runnable> {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** For {@link RedeployMain}. */
    public RedeployedApplication() {
    }

    @Override
    public void accept(String way, Runnable look) {
        try {
            switch (way) {
                case "sockets" -> sockets(Transport.SHARED_MEMORY, look);
                case "auto" -> sockets(Transport.AUTO, look);
                case "tcp" -> sockets(Transport.TCP, look);
                case "installed" -> installed(look);
                case "endpoints" -> endpoints(look);
                case "nodes" -> nodes(look);
                default -> throw new IllegalArgumentException(way);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void sockets(Transport transport, Runnable look) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(); RdmaSocket client = new RdmaSocket()) {
            server.setOption(RdmaSocketOptions.TRANSPORT, transport);
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            client.setOption(RdmaSocketOptions.TRANSPORT, transport);
            client.connect(server.getLocalSocketAddress());
            echo(client, server, look);
        }
    }

    /** As the agent does it: for all sockets of the JVM. */
    private static void installed(Runnable look) throws Exception {
        RdmaSockets.install();
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) {
            echo(client, server, look);
        }
    }

    private static void echo(Socket client, ServerSocket server, Runnable look) throws Exception {
        try (Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            if (accepted.getInputStream().read() != 7) {
                throw new IllegalStateException("another byte");
            }
            look.run();
        }
    }

    private static void endpoints(Runnable look) throws Exception {
        try (RdmaEndpointServer server = RdmaEndpoint.builder().device("sharedmemory")
                .listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                RdmaEndpoint client = RdmaEndpoint.builder().device("sharedmemory").connect(server.localAddress());
                RdmaEndpoint accepted = server.accept(PATIENCE)) {
            talk(client, accepted);
            look.run();
        }
    }

    private static void talk(RdmaEndpoint from, RdmaEndpoint to) throws Exception {
        from.send(from.allocate(3_000));
        to.receive(PATIENCE).close();
        from.requestRemote(100).close();
    }

    private static void nodes(Runnable look) throws Exception {
        List<InetSocketAddress> addresses = FreePorts.next(InetAddress.getLoopbackAddress(), 3);
        FutureTask<RdmaNode> first = join(addresses, 0);
        FutureTask<RdmaNode> second = join(addresses, 1);
        Await.until("the exchange waits for the third", () -> Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith("rdma-exchange")));
        look.run();
        FutureTask<RdmaNode> third = join(addresses, 2);
        try (RdmaNode one = first.get(); RdmaNode two = second.get(); RdmaNode three = third.get()) {
            talk(one.peer(1), two.peer(0));
            talk(three.peer(1), two.peer(2));
            look.run();
        }
    }

    private static FutureTask<RdmaNode> join(List<InetSocketAddress> addresses, int rank) {
        FutureTask<RdmaNode> task = new FutureTask<>(() -> RdmaNode.join(
                RdmaEndpoint.builder().device("sharedmemory"), InetAddress.getLoopbackAddress(), addresses, rank,
                PATIENCE));
        new Thread(task, "application " + rank).start();
        return task;
    }
}
