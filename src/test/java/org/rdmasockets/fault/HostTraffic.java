package org.rdmasockets.fault;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.rpc.RpcServer;

/** The parts of {@link TwoHosts} that run on either host, and what it starts as a process there to kill it. */
final class HostTraffic {
    private static final int MOST_PIECE_BYTES = 100_000;

    private HostTraffic() {
    }

    /** Kernel, processor, JDK and library of this host. */
    static String system() throws IOException {
        try (Stream<Path> folders = Files.walk(Path.of("/usr/lib"), 2)) {
            String library = folders.map(file -> file.getFileName().toString())
                    .filter(name -> name.matches("libibverbs\\.so\\.1\\..+")).collect(Collectors.joining(" "));
            return "Linux " + System.getProperty("os.version") + ", " + System.getProperty("os.arch") + ", JDK "
                    + System.getProperty("java.version") + ", " + library;
        }
    }

    /** Writes random bytes in pieces of random sizes; their checksum. */
    static long send(Socket socket, long length, long seed) throws IOException {
        Random random = new Random(seed);
        CRC32C checksum = new CRC32C();
        OutputStream out = socket.getOutputStream();
        byte[] buffer = new byte[MOST_PIECE_BYTES];
        for (long left = length; left > 0;) {
            int piece = (int) Math.min(left, 1 + random.nextInt(random.nextBoolean() ? 300 : buffer.length));
            random.nextBytes(buffer);
            out.write(buffer, 0, piece);
            checksum.update(buffer, 0, piece);
            left -= piece;
        }
        return checksum.getValue();
    }

    /** Reads so many bytes in pieces of random sizes; their checksum. */
    static long receive(Socket socket, long length, long seed) throws IOException {
        Random random = new Random(seed);
        CRC32C checksum = new CRC32C();
        InputStream in = socket.getInputStream();
        byte[] buffer = new byte[MOST_PIECE_BYTES];
        for (long left = length; left > 0;) {
            int count = in.read(buffer, 0, (int) Math.min(left, 1 + random.nextInt(buffer.length)));
            if (count < 0) {
                throw new EOFException("the stream ends " + left + " bytes too early");
            }
            checksum.update(buffer, 0, count);
            left -= count;
        }
        return checksum.getValue();
    }

    /** Sends back what comes until the end of the stream, and ends the own; how many bytes. */
    static long echo(Socket socket) throws IOException {
        long bytes = socket.getInputStream().transferTo(socket.getOutputStream());
        socket.shutdownOutput();
        return bytes;
    }

    /** A socket at an address that sends each datagram back until it is closed. */
    static RdmaDatagramSocket echoDatagrams(String address) throws IOException {
        RdmaDatagramSocket socket = new RdmaDatagramSocket(new InetSocketAddress(InetAddress.ofLiteral(address), 0));
        Thread.ofVirtual().name("echo of datagrams").start(() -> {
            DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
            while (!socket.isClosed()) {
                try {
                    packet.setLength(2048);
                    socket.receive(packet);
                    socket.send(packet);
                } catch (IOException e) {
                    if (!socket.isClosed()) {
                        System.out.println("the echo of datagrams goes on: " + e);
                    }
                }
            }
        });
        return socket;
    }

    /** Restarts the machine at once, without a word to its peers. */
    static boolean stopHost() throws IOException {
        Files.writeString(Path.of("/proc/sysrq-trigger"), "b");
        return true;
    }

    /** A server of calls: {@code echo}, {@code sum} of a stream of bytes, and {@code hold}, which never answers. */
    static RpcServer serve(String address, boolean datagrams) throws IOException {
        RpcServer.Builder builder = RpcServer.builder().unary("echo", (request, call) -> request)
                .unary("hold", (request, call) -> {
                    Thread.sleep(Long.MAX_VALUE);
                    return request;
                }).streaming("sum", call -> {
                    int sum = 0;
                    for (byte[] one = call.receive(); one != null; one = call.receive()) {
                        sum += one[0];
                        call.send(new byte[] {(byte) sum});
                    }
                });
        return (datagrams ? builder.datagrams() : builder)
                .listen(new InetSocketAddress(InetAddress.ofLiteral(address), 0));
    }

    /** A process that serves calls until it is killed. */
    static final class CallServer {
        private CallServer() {
        }

        /**
         * Says the port.
         *
         * @param arguments address, and whether over datagrams
         */
        static void main(String[] arguments) throws Exception {
            RpcServer server = serve(arguments[0], Boolean.parseBoolean(arguments[1]));
            System.out.println("listening " + server.localAddress().getPort());
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
