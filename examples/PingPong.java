// Measures round trips of RdmaSocket beside java.net.Socket. Usage: PingPong [ADDRESS [TRANSPORT]]

import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

void main(String[] args) throws Exception {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    InetAddress address = args.length > 0 ? InetAddress.getByName(args[0]) : InetAddress.getLoopbackAddress();
    Transport wanted = args.length > 1 ? new Transport(args[1], "") : Transport.AUTO;
    try (RdmaServerSocket server = listening(address, wanted); RdmaSocket socket = wanting(wanted)) {
        socket.connect(server.getLocalSocketAddress());
        IO.println("RdmaSocket goes over " + socket.getOption(RdmaSocketOptions.TRANSPORT));
    }
    IO.println("Round trips between two virtual threads on " + address.getHostAddress() + ", in microseconds:");
    IO.println("   bytes   java.net.Socket p50      p99   RdmaSocket p50      p99   p50 ratio");
    for (int bytes : new int[] {64, 1024, 16384, 65536}) {
        double[] plain = measure(new ServerSocket(0, 1, address), new Socket(), bytes);
        double[] rdma = measure(listening(address, wanted), wanting(wanted), bytes);
        IO.println("%,8d %21.1f %8.1f %16.1f %8.1f %11.2f".formatted(bytes, plain[0], plain[1], rdma[0], rdma[1],
                rdma[0] / plain[0]));
    }
}

RdmaSocket wanting(Transport transport) throws IOException {
    RdmaSocket socket = new RdmaSocket();
    socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
    return socket;
}

RdmaServerSocket listening(InetAddress address, Transport wanted) throws IOException {
    RdmaServerSocket server = new RdmaServerSocket();
    server.setOption(RdmaSocketOptions.TRANSPORT, wanted);
    server.bind(new InetSocketAddress(address, 0));
    return server;
}

/** Median and 99th percentile of single round trips, in microseconds. */
double[] measure(ServerSocket server, Socket client, int bytes) throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor(); server; client) {
        threads.submit(() -> echo(server, bytes));
        return threads.submit(() -> ping(client, server.getLocalSocketAddress(), bytes)).get();
    }
}

Void echo(ServerSocket server, int bytes) throws IOException {
    try (Socket socket = server.accept()) {
        socket.setTcpNoDelay(true);
        byte[] message = new byte[bytes];
        while (socket.getInputStream().readNBytes(message, 0, bytes) == bytes) {
            socket.getOutputStream().write(message);
        }
        return null;
    }
}

double[] ping(Socket socket, SocketAddress server, int bytes) throws IOException {
    socket.connect(server);
    socket.setTcpNoDelay(true);
    byte[] message = new byte[bytes];
    int[] nanos = new int[2_000_000];
    roundTrips(socket, message, nanos); // to warm up
    int count = roundTrips(socket, message, nanos);
    Arrays.sort(nanos, 0, count);
    return new double[] {nanos[count / 2] / 1e3, nanos[(int) (count * 0.99)] / 1e3};
}

/** As many as fit into a second. All use the same memory: memory that is new is slow at its first touch. */
int roundTrips(Socket socket, byte[] message, int[] nanos) throws IOException {
    int count = 0;
    for (long start = System.nanoTime(), end = start + 1_000_000_000, now; start < end; start = now) {
        socket.getOutputStream().write(message);
        socket.getInputStream().readNBytes(message, 0, message.length);
        now = System.nanoTime();
        nanos[count++ % nanos.length] = (int) (now - start);
    }
    return Math.min(count, nanos.length);
}
