// Measures round trips of RdmaSocket beside java.net.Socket on the same address. Usage: PingPong [ADDRESS]

import org.rdmasockets.RdmaDevices;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

void main(String[] args) throws Exception {
    Optional<InetAddress> rdma = args.length > 0 ? Optional.of(InetAddress.getByName(args[0])) : findRdmaAddress();
    InetAddress address = rdma.orElse(InetAddress.getLoopbackAddress());
    if (rdma.isEmpty()) {
        IO.println("RdmaSocket is left out: "
                + RdmaDevices.unavailability().orElse("no address of this machine belongs to an RDMA device"));
    }
    IO.println("Round trips between two virtual threads on " + address.getHostAddress() + ", in microseconds:");
    IO.println("   bytes   java.net.Socket p50      p99   RdmaSocket p50      p99   p50 ratio");
    for (int bytes : new int[] {64, 1024, 16384, 65536}) {
        double[] tcp = measure(new ServerSocket(0, 1, address), new Socket(), bytes);
        IO.print("%,8d %21.1f %8.1f".formatted(bytes, tcp[0], tcp[1]));
        if (rdma.isPresent()) {
            double[] fast = measure(new RdmaServerSocket(0, 1, address), new RdmaSocket(), bytes);
            IO.print(" %16.1f %8.1f %11.2f".formatted(fast[0], fast[1], fast[0] / tcp[0]));
        }
        IO.println();
    }
}

/** The first IPv4 address of this machine on which an RDMA socket can listen. */
Optional<InetAddress> findRdmaAddress() throws SocketException {
    return NetworkInterface.networkInterfaces().sorted(Comparator.comparing(NetworkInterface::getIndex))
            .flatMap(NetworkInterface::inetAddresses).filter(Inet4Address.class::isInstance)
            .filter(address -> !address.isLoopbackAddress() && hasRdma(address)).findFirst();
}

boolean hasRdma(InetAddress address) {
    try (ServerSocket server = new RdmaServerSocket(0, 1, address)) {
        return server.isBound();
    } catch (IOException e) {
        return false;
    }
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
        for (byte[] message; (message = socket.getInputStream().readNBytes(bytes)).length > 0;) {
            socket.getOutputStream().write(message);
        }
        return null;
    }
}

double[] ping(Socket socket, SocketAddress server, int bytes) throws IOException {
    socket.connect(server);
    socket.setTcpNoDelay(true);
    roundTrips(socket, bytes); // to warm up
    return roundTrips(socket, bytes);
}

/** As many as fit into a second. */
double[] roundTrips(Socket socket, int bytes) throws IOException {
    List<Long> nanos = new ArrayList<>();
    for (long end = System.nanoTime() + 1_000_000_000, start; (start = System.nanoTime()) < end;) {
        socket.getOutputStream().write(new byte[bytes]);
        socket.getInputStream().readNBytes(bytes);
        nanos.add(System.nanoTime() - start);
    }
    double[] micros = nanos.stream().mapToDouble(n -> n / 1e3).sorted().toArray();
    return new double[] {micros[micros.length / 2], micros[micros.length * 99 / 100]};
}
