package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.grpc.RdmaChannelBuilder;
import org.rdmasockets.grpc.RdmaServerBuilder;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;

/**
 * The very first connection of a process that has no descriptor left, and whose classes lie in a folder: the JVM can
 * open no class file then, and a reference to a class that it could not find once fails for ever.
 */
@Timeout(value = 100, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FewDescriptorsTest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();
    private static final int MOST_SPARE = 1;

    /** With each descriptor that comes back, the server gets further on its way to the first connection. */
    @Test
    void aServerOfAnyKindTakesConnectionsAgain() throws Exception {
        Process process = start("server");
        try (BufferedReader output = process.inputReader()) {
            Map<Kind, InetSocketAddress> servers = new EnumMap<>(Kind.class);
            for (Kind kind : Kind.values()) {
                servers.put(kind, new InetSocketAddress(HERE, Integer.parseInt(lineOf(output))));
            }
            for (int spare = 0; spare <= MOST_SPARE; spare++) {
                assertEquals("with " + spare, lineOf(output));
                for (Map.Entry<Kind, InetSocketAddress> server : servers.entrySet()) {
                    try {
                        server.getKey().exchange(server.getValue(), 100);
                    } catch (IOException | StatusRuntimeException e) {
                        continue; // it may also be taken, as over TCP
                    }
                }
                goOn(process);
            }
            assertEquals("free again", lineOf(output));
            for (Map.Entry<Kind, InetSocketAddress> server : servers.entrySet()) {
                assertEquals(7, server.getKey().exchange(server.getValue(), 20_000), server::toString);
            }
        } finally {
            process.destroyForcibly();
        }
    }

    /** The next line of the process itself, without those of loggers. */
    private static String lineOf(BufferedReader output) throws IOException {
        String line = output.readLine();
        while (line != null && !line.matches("[0-9]+|with [0-9]+|free again")) {
            line = output.readLine();
        }
        return line;
    }

    /** A kind of server, and how a client asks it. */
    enum Kind {
        SOCKET {
            @Override
            int serve() throws IOException {
                RdmaServerSocket listener = listener();
                forEver(() -> {
                    try (RdmaSocket server = listener.accept()) {
                        int b = server.getInputStream().read();
                        if (b >= 0) {
                            server.getOutputStream().write(b);
                        }
                    }
                });
                return listener.getLocalPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                try (RdmaSocket client = socket()) {
                    client.connect(server, millis);
                    client.setSoTimeout(millis);
                    client.getOutputStream().write(7);
                    return client.getInputStream().read();
                }
            }
        },
        ENDPOINT {
            @Override
            int serve() throws IOException {
                RdmaEndpointServer listener = RdmaEndpoint.builder().listen(ANY_PORT);
                forEver(() -> {
                    try (RdmaEndpoint server = listener.accept(); Message message = server.receive()) {
                        server.send(message.region());
                    }
                });
                return listener.localAddress().getPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                Duration limit = Duration.ofMillis(millis);
                try (RdmaEndpoint client = RdmaEndpoint.builder().connectTimeout(limit).operationTimeout(limit)
                        .connect(server)) {
                    LocalRegion region = client.allocate(1);
                    region.put(0, new byte[] {7}, 1);
                    client.send(region);
                    try (Message message = client.receive(limit)) {
                        return message.toArray()[0];
                    }
                }
            }
        },
        CALLS {
            @Override
            int serve() throws IOException {
                return calls().listen(ANY_PORT).localAddress().getPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                return call(RpcClient.builder(), server, millis);
            }
        },
        SESSIONS {
            @Override
            int serve() throws IOException {
                return calls().datagrams().listen(ANY_PORT).localAddress().getPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                return call(RpcClient.builder().datagrams(), server, millis);
            }
        },
        STUBS {
            @Override
            int serve() throws IOException {
                return RdmaServerBuilder.forAddress(ANY_PORT).addService(ServerServiceDefinition.builder("few")
                        .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, answers) -> {
                            answers.onNext(request);
                            answers.onCompleted();
                        })).build()).build().start().getPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                ManagedChannel channel = RdmaChannelBuilder.forAddress(server.getHostString(), server.getPort())
                        .build();
                try {
                    return ClientCalls.blockingUnaryCall(channel, ECHO,
                            CallOptions.DEFAULT.withDeadlineAfter(Duration.ofMillis(millis)), new byte[] {7})[0];
                } finally {
                    channel.shutdownNow();
                }
            }
        },
        DATAGRAMS {
            @Override
            int serve() throws IOException {
                RdmaDatagramSocket socket = new RdmaDatagramSocket(ANY_PORT);
                forEver(() -> {
                    DatagramPacket packet = new DatagramPacket(new byte[1], 1);
                    socket.receive(packet);
                    socket.send(packet);
                });
                return socket.getLocalPort();
            }

            @Override
            int exchange(InetSocketAddress server, int millis) throws IOException {
                try (RdmaDatagramSocket socket = new RdmaDatagramSocket(ANY_PORT)) {
                    socket.setSoTimeout(Math.min(millis, 500));
                    DatagramPacket packet = new DatagramPacket(new byte[1], 1);
                    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
                    while (true) {
                        socket.send(new DatagramPacket(new byte[] {7}, 1, server));
                        try {
                            socket.receive(packet);
                            return packet.getData()[0];
                        } catch (SocketTimeoutException e) {
                            if (System.nanoTime() - end >= 0) { // else it was lost, or the answer was
                                throw e;
                            }
                        }
                    }
                }
            }
        };

        private static final InetSocketAddress ANY_PORT = new InetSocketAddress(HERE, 0);
        private static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("few/echo")
                .setRequestMarshaller(new Bytes()).setResponseMarshaller(new Bytes()).build();

        /** Begins to serve at a port. */
        abstract int serve() throws IOException;

        /** Has a byte sent back, within a time. */
        abstract int exchange(InetSocketAddress server, int millis) throws IOException;

        private static RpcServer.Builder calls() {
            return RpcServer.builder().unary("echo", (request, call) -> request);
        }

        private static int call(RpcClient.Builder builder, InetSocketAddress server, int millis) throws IOException {
            Duration limit = Duration.ofMillis(millis);
            try (RpcClient client = builder.retryTime(limit).connect(server)) {
                return client.call("echo", new byte[] {7}, RpcOptions.DEFAULT.timeout(limit))[0];
            }
        }

        /** Serves one after the other, also after a failure. */
        private static void forEver(Service service) {
            Thread.ofPlatform().daemon().start(() -> {
                while (true) {
                    try {
                        service.serve();
                    } catch (IOException | LinkageError e) {
                        e.printStackTrace();
                    }
                }
            });
        }
    }

    /** Serves one peer. */
    private interface Service {
        void serve() throws IOException;
    }

    /** Bytes as they are. */
    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Test
    void aClientConnectsAgain() throws Exception {
        Process process = start("client");
        try (BufferedReader output = process.inputReader(); RdmaServerSocket listener = listener()) {
            process.outputWriter().append(listener.getLocalPort() + "\n").flush();
            String failure = output.readLine();
            assertTrue(failure.startsWith("java.net.SocketException: ") && failure.contains("too many open files"),
                    failure);
            goOn(process);
            listener.setSoTimeout(20_000);
            try (RdmaSocket server = listener.accept()) {
                server.getOutputStream().write(7);
                assertEquals("7", output.readLine());
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private static Process start(String role) throws IOException {
        return ChildJvm.start(List.of("bash", "-c", "ulimit -n 200; exec \"$@\"", "bash"),
                List.of("--enable-native-access=ALL-UNNAMED"), Main.class, role);
    }

    private static void goOn(Process process) throws IOException {
        process.outputWriter().append("go on\n").flush();
    }

    private static RdmaSocket socket() throws IOException {
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        return socket;
    }

    private static RdmaServerSocket listener() throws IOException {
        RdmaServerSocket listener = new RdmaServerSocket();
        listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        listener.bind(new InetSocketAddress(HERE, 0));
        return listener;
    }

    /** The process; its parent says when it has descriptors again. */
    static final class Main {
        private Main() {
        }

        public static void main(String[] arguments) throws IOException {
            Descriptors.close(Descriptors.open("/dev/null"));
            if (arguments[0].equals("server")) {
                serve();
            } else {
                connect();
            }
        }

        private static void serve() throws IOException {
            for (Kind kind : Kind.values()) {
                System.out.println(kind.serve());
            }
            List<PacketSocket> taken = Descriptors.takeAll();
            for (int spare = 0; spare <= MOST_SPARE; spare++) {
                System.out.println("with " + spare);
                line();
                taken.removeLast().close();
            }
            taken.forEach(PacketSocket::close);
            System.out.println("free again");
            line(); // never
        }

        private static void connect() throws IOException {
            InetSocketAddress address = new InetSocketAddress(HERE, Integer.parseInt(line()));
            RdmaSocket first = socket();
            List<PacketSocket> taken = Descriptors.takeAll();
            try {
                first.connect(address, 20_000);
                System.out.println("connected");
            } catch (IOException | LinkageError e) {
                System.out.println(e);
            }
            line();
            taken.forEach(PacketSocket::close);
            try (RdmaSocket second = socket()) {
                second.connect(address, 20_000);
                System.out.println(second.getInputStream().read());
            }
        }

        private static String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int b = System.in.read(); b >= 0 && b != '\n'; b = System.in.read()) {
                line.append((char) b);
            }
            return line.toString();
        }
    }
}
