// Sends messages of 64 bytes to EchoServer and checks each echo. Usage: EchoClient HOST PORT [COUNT]

import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

void main(String[] args) {
    if (args.length < 2) {
        System.err.println("usage: EchoClient HOST PORT [COUNT]");
        System.exit(2);
    }
    int count = args.length > 2 ? Integer.parseInt(args[2]) : 1000;
    try (Socket socket = new RdmaSocket(args[0], Integer.parseInt(args[1]))) {
        IO.println("connected from " + socket.getLocalSocketAddress() + " to " + socket.getRemoteSocketAddress()
                + " over " + socket.getOption(RdmaSocketOptions.TRANSPORT));
        long[] nanos = exchange(socket, count);
        Arrays.sort(nanos);
        IO.println("%,d messages came back unchanged, in %.1f us (the median)".formatted(count,
                count > 0 ? nanos[count / 2] / 1e3 : 0));
    } catch (IOException e) {
        System.err.println(e.getMessage());
        System.exit(1);
    }
}

/** How long each took, in nanoseconds. */
long[] exchange(Socket socket, int count) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    OutputStream out = socket.getOutputStream();
    byte[] sent = new byte[64];
    byte[] echoed = new byte[64];
    long[] nanos = new long[count];
    for (int i = 0; i < count; i++) {
        Arrays.fill(sent, (byte) i);
        long start = System.nanoTime();
        out.write(sent);
        in.readFully(echoed);
        nanos[i] = System.nanoTime() - start;
        if (!Arrays.equals(sent, echoed)) {
            throw new IOException("message " + i + " came back changed");
        }
    }
    return nanos;
}
