// Puts any TCP server behind RDMA: each connection is passed on. Usage: Gateway PORT TCP_HOST TCP_PORT

import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

static final int MOST_CONNECTIONS = 1_000, CONNECT_MILLIS = 5_000;

void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length < 3) {
        System.err.println("usage: Gateway PORT TCP_HOST TCP_PORT");
        System.exit(2);
    }
    InetSocketAddress target = new InetSocketAddress(args[1], Integer.parseInt(args[2]));
    Semaphore room = new Semaphore(MOST_CONNECTIONS); // further clients wait to be accepted
    try (RdmaServerSocket server = new RdmaServerSocket(Integer.parseInt(args[0]))) {
        IO.println("port " + server.getLocalPort() + " leads to " + target + ", "
                + server.getOption(RdmaSocketOptions.TRANSPORT).reason());
        while (true) {
            room.acquireUninterruptibly();
            accept(server, target, room);
        }
    }
}

void accept(RdmaServerSocket server, InetSocketAddress target, Semaphore room) {
    try {
        RdmaSocket client = server.accept();
        Thread.startVirtualThread(() -> {
            try {
                pass(client, target);
            } finally {
                room.release();
            }
        });
    } catch (IOException e) { // that client has gone, or lacks something; the next one may do better
        IO.println("not accepted: " + e.getMessage());
        room.release();
        LockSupport.parkNanos(100_000_000);
    }
}

/** Carries both directions, each to its end; the end of one leaves the other as it is. */
void pass(RdmaSocket client, InetSocketAddress target) {
    try (client; Socket tcp = new Socket()) {
        try {
            client.setKeepAlive(true); // or a client that vanished would be served for ever
            tcp.setTcpNoDelay(true);
            tcp.connect(target, CONNECT_MILLIS);
            Thread answers = Thread.startVirtualThread(() -> copy(tcp, client));
            copy(client, tcp);
            answers.join();
        } catch (IOException | InterruptedException e) {
            IO.println(client.getRemoteSocketAddress() + ": " + e.getMessage());
            reset(client);
        }
    } catch (IOException e) {
        IO.println(client.getRemoteSocketAddress() + ": " + e.getMessage());
    }
}

/** Carries bytes as they come, and then the end of the stream; an error of one socket becomes a reset of the other. */
void copy(Socket from, Socket to) {
    try {
        from.getInputStream().transferTo(to.getOutputStream());
        to.shutdownOutput();
    } catch (IOException e) {
        reset(from);
        reset(to);
    }
}

/** Closes so that the peer reads an error: it must not take what it got for everything. */
void reset(Socket socket) {
    try (socket) {
        socket.setSoLinger(true, 0);
    } catch (IOException e) {
        // it is closed already
    }
}
