package org.rdmasockets.overflow;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcMetadata;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;

/** Calls over endpoints or over datagrams. */
final class CallScene extends Scene {
    private static final int BYTES = 64;
    private static final RpcOptions SOON = RpcOptions.DEFAULT.timeout(Duration.ofSeconds(20));

    private final boolean datagrams;
    private final RpcServer server;
    private final List<RpcClient> others = new ArrayList<>();

    CallScene(boolean datagrams) throws IOException {
        this.datagrams = datagrams;
        server = server();
        for (int i = 0; i < 4; i++) {
            others.add(client(server));
        }
    }

    private RpcServer server() throws IOException {
        RpcServer.Builder builder = RpcServer.builder().unary("echo", (request, call) -> request)
                .streaming("stream", call -> {
                    for (byte[] one = call.receive(); one != null; one = call.receive()) {
                        call.send(one);
                    }
                });
        return (datagrams ? builder.datagrams() : builder)
                .listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    private RpcClient client(RpcServer of) throws IOException {
        RpcClient.Builder builder = RpcClient.builder().retryTime(Duration.ofSeconds(10));
        return (datagrams ? builder.datagrams() : builder).connect(of.localAddress());
    }

    private static void talk(RpcClient client) throws IOException {
        Assertions.assertEquals(BYTES, client.call("echo", new byte[BYTES], SOON).length);
    }

    @Override
    void bystanders() throws IOException {
        for (RpcClient one : others) {
            talk(one);
        }
    }

    @Override
    void newcomer() throws IOException {
        try (RpcClient one = client(server)) {
            talk(one);
        }
    }

    private RpcClient client() throws IOException {
        value(() -> SOON);
        value(() -> RpcMetadata.EMPTY);
        RpcClient made = keep(client(server));
        talk(made);
        return made;
    }

    private RpcClientCall call() throws IOException {
        RpcClientCall call = client().open("stream", SOON);
        for (int i = 0; i < 40; i++) {
            call.send(new byte[BYTES]);
        }
        return call;
    }

    /** Like all that follow, in a client that others use, too. */
    private RpcClient shared() {
        value(() -> SOON);
        return others.getFirst();
    }

    @Override
    List<Subject> subjects() {
        return List.of(new Subject(this::client, one -> talk((RpcClient) one)),
                new Subject(this::shared, one -> talk((RpcClient) one), "close"),
                new Subject(this::call, one -> {
                    ((RpcClientCall) one).cancel();
                    ((RpcClientCall) one).close();
                }),
                new Subject(() -> client().begin("echo", new byte[BYTES], SOON), one -> bystanders()),
                new Subject(() -> {
                    RpcServer made = keep(server());
                    keep(client(made));
                    return made;
                }, one -> {
                    try (RpcClient client = client((RpcServer) one)) {
                        talk(client);
                    }
                }));
    }

    @Override
    void end() throws Exception {
        super.end();
        for (RpcClient one : others) {
            one.close();
        }
        server.close();
    }
}
