package org.rdmasockets;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long does a round trip between two virtual threads of one process take with RdmaSocket, and with
 * {@code java.net.Socket}, on one address? The address is {@code -Dorg.rdmasockets.test.address}, the loopback if that
 * is not set; {@code -p transport=ibverbs} needs that of an RDMA device.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = {"-Djmh.executor=VIRTUAL", "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow"})
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class PingPongBenchmark {
    /** What carries the bytes: {@code java.net.Socket}, or a transport of RdmaSocket. */
    @Param({PLAIN, "sharedmemory"})
    public String transport;

    /** Size of the message there and of the message back. */
    @Param({"64", "4096", "65536"})
    public int bytes;

    private static final String PLAIN = "java.net.Socket";

    private ServerSocket server;
    private Socket client;
    private byte[] message;

    /** Connects the two ends and starts the one that answers. */
    @Setup
    public void connect() throws IOException {
        InetAddress address = InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "127.0.0.1"));
        if (transport.equals(PLAIN)) {
            server = new ServerSocket();
            client = new Socket();
        } else {
            Transport forced = new Transport(transport, "");
            server = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
            client = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        }
        server.bind(new InetSocketAddress(address, 0), 1);
        Thread.startVirtualThread(this::answer);
        client.connect(server.getLocalSocketAddress());
        client.setTcpNoDelay(true);
        message = new byte[bytes];
    }

    /** Ends both. */
    @TearDown
    public void disconnect() throws IOException {
        client.close();
        server.close();
    }

    /** One message there and back. */
    @Benchmark
    public byte[] roundTrip() throws IOException {
        client.getOutputStream().write(message);
        readFully(client.getInputStream(), message);
        return message;
    }

    private void answer() {
        byte[] copy = new byte[bytes];
        try (Socket socket = server.accept()) {
            socket.setTcpNoDelay(true);
            OutputStream out = socket.getOutputStream();
            while (true) {
                readFully(socket.getInputStream(), copy);
                out.write(copy);
            }
        } catch (IOException e) {
            // The client has closed: the trial is over.
        }
    }

    private static void readFully(InputStream in, byte[] into) throws IOException {
        if (in.readNBytes(into, 0, into.length) < into.length) {
            throw new EOFException("the other end closed");
        }
    }
}
