// Memory lent and borrowed for a time. Usage: Lease server [HOST [PORT]], then Lease HOST PORT

import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.endpoint.RemoteLease;
import org.rdmasockets.verbs.AccessFlag;

static final Duration PATIENCE = Duration.ofSeconds(60);
static final int BYTES = 64;

void main(String[] args) throws Exception {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length > 0 && args[0].equals("server")) {
        lend(new InetSocketAddress(args.length > 1 ? args[1] : "0.0.0.0",
                args.length > 2 ? Integer.parseInt(args[2]) : 7471));
    } else if (args.length == 2) {
        borrow(args[0], Integer.parseInt(args[1]));
    } else {
        System.err.println("usage: Lease server [HOST [PORT]], then Lease HOST PORT");
        System.exit(2);
    }
}

/** Gives one client memory to read, and memory of its own as soon as it asks, which no call here has to see to. */
void lend(InetSocketAddress local) throws IOException {
    try (RdmaEndpointServer server = RdmaEndpoint.builder().remoteMemory(1 << 20).listen(local)) {
        IO.println("listening on port " + server.localAddress().getPort());
        try (RdmaEndpoint endpoint = server.accept()) {
            LocalRegion greeting = endpoint.allocate(BYTES, Long.BYTES,
                    Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ));
            greeting.segment().setString(0, "read me while you may");
            endpoint.share(greeting, PATIENCE);
            try (LocalRegion back = endpoint.receiveHandedOver(PATIENCE)) {
                IO.println("handed over: " + back.segment().getString(0));
            }
            endpoint.receive(PATIENCE).close(); // until the client has seen a lease expire
        }
    }
}

void borrow(String host, int port) throws Exception {
    try (RdmaEndpoint endpoint = RdmaEndpoint.builder().connect(host, port);
            LocalRegion here = endpoint.allocate(BYTES)) {
        try (RemoteLease greeting = endpoint.receiveShared(PATIENCE)) {
            endpoint.read(here, greeting.region());
            IO.println("shared for " + seconds(greeting) + " seconds: " + here.segment().getString(0));
        } // the server learns of that, and takes its memory back
        RemoteLease lease = endpoint.requestRemote(BYTES, PATIENCE);
        here.segment().setString(0, "written by the client");
        endpoint.write(here, lease.region());
        IO.println("written to memory of the server, which is mine for " + seconds(lease) + " seconds");
        endpoint.handOver(lease);
        letExpire(endpoint, here);
        endpoint.sendImmediate(0);
    }
}

/** A lease ends by itself, at both ends: a client that forgets it costs the server nothing. */
void letExpire(RdmaEndpoint endpoint, LocalRegion here) throws Exception {
    RemoteLease lease = endpoint.requestRemote(BYTES, Duration.ofSeconds(1));
    endpoint.write(here, lease.region());
    while (!lease.isExpired()) {
        Thread.sleep(lease.remaining().plusMillis(1));
    }
    try {
        endpoint.write(here, lease.region());
        throw new AssertionError("a lease that has expired was of use");
    } catch (EndpointException e) {
        IO.println("refused: " + e.getMessage());
    }
}

/** Rounded, as some of it has passed. */
long seconds(RemoteLease lease) {
    return lease.remaining().plusSeconds(1).toSeconds();
}
