package org.rdmasockets.fault;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/**
 * Deletes the device under open connections and a listener: each must fail and say why, and the process must go on over
 * the other device. The kernel lets the deletion wait until the process has ended. See {@code src/test/guest/faults}.
 */
final class DeviceDeleted {
    private static final long BOUND_MILLIS = 5_000;

    private final Promises promises = new Promises();
    private final EchoService others;
    private final ServerSocket server = TestBed.listen();
    private final Socket read = TestBed.connect(server.getLocalPort());
    private final Socket readPeer = server.accept();
    private final Socket idle = TestBed.connect(server.getLocalPort());
    private final Socket idlePeer = server.accept();
    private final Socket written = TestBed.connect(server.getLocalPort());
    private final Socket sink = server.accept();

    private DeviceDeleted() throws IOException {
        others = new EchoService(InetAddress.getByName(TestBed.iwarp() ? "10.77.0.1" : "10.78.0.1"));
    }

    /**
     * Prints what was seen; the exit status is 0 if all is as promised.
     */
    static void main() throws Exception {
        DeviceDeleted test = new DeviceDeleted();
        test.run();
        test.promises.exit();
    }

    private void run() throws IOException, InterruptedException {
        promises.works("a connection over the other device, before", others::assertServes);
        Attempt reader = Attempt.start("reader", read.getInputStream()::read);
        Attempt drain = Attempt.start("drain", () -> (int) sink.getInputStream()
                .transferTo(OutputStream.nullOutputStream()));
        Attempt writer = Attempt.start("writer", this::writeForEver);
        Attempt acceptor = Attempt.start("acceptor", () -> server.accept().getPort());
        reader.awaitParked();
        acceptor.awaitParked();
        Program rdma = Program.start("rdma", "link", "delete", TestBed.device());
        long deleted = System.nanoTime();
        promises.ends("a blocked reader", reader, deleted, BOUND_MILLIS, DeviceDeleted::saysWhyOrReset);
        promises.ends("a busy writer", writer, deleted, BOUND_MILLIS, DeviceDeleted::saysWhyOrReset);
        promises.ends("its peer", drain, deleted, BOUND_MILLIS, DeviceDeleted::saysWhyOrReset);
        promises.ends("a blocked accept", acceptor, deleted, BOUND_MILLIS, DeviceDeleted::saysWhy);
        promises.ends("an idle connection", Attempt.start("idle", idle.getInputStream()::read), System.nanoTime(),
                BOUND_MILLIS, DeviceDeleted::saysWhy);
        promises.ends("a write to an idle connection", Attempt.start("idle", this::writeOnce), System.nanoTime(),
                BOUND_MILLIS, DeviceDeleted::saysWhy);
        promises.ends("a new connect", Attempt.start("connect", this::connect), System.nanoTime(), BOUND_MILLIS,
                outcome -> outcome.failure() != null);
        promises.ends("a new listener", Attempt.start("listen", DeviceDeleted::listen), System.nanoTime(),
                BOUND_MILLIS, outcome -> outcome.failure() instanceof SocketException);
        promises.works("a connection over the other device, after", others::assertServes);
        System.out.println("        rdma link delete " + (rdma.isAlive() ? "still waits for this process" : "is done"));
        idlePeer.close();
        readPeer.close();
        server.close();
        promises.works("a connection over the other device, after all is closed", others::assertServes);
    }

    /**
     * A thread that is blocked at that moment may see the reset first: soft-iWARP ends its queue pairs before it tells,
     * and the peers here are on the same device. From then on the reason is known.
     */
    private static boolean saysWhyOrReset(Attempt.Outcome outcome) {
        return saysWhy(outcome) || outcome.failure() instanceof SocketException e
                && e.getMessage().equals("Connection reset");
    }

    /** A SocketException that names the device's removal. */
    private static boolean saysWhy(Attempt.Outcome outcome) {
        return outcome.failure() instanceof SocketException e && e.getMessage().toLowerCase().contains("removed");
    }

    private int writeForEver() throws IOException {
        byte[] data = new byte[10_000];
        while (true) {
            written.getOutputStream().write(data);
        }
    }

    private int writeOnce() throws IOException {
        idle.getOutputStream().write(1);
        return 1;
    }

    private int connect() throws IOException {
        try (Socket socket = TestBed.socket()) {
            socket.connect(new InetSocketAddress(TestBed.address(), server.getLocalPort()), 3_000);
            return 1;
        } catch (SocketTimeoutException e) {
            throw new IOException("silence instead of a refusal", e);
        }
    }

    private static int listen() throws IOException {
        try (ServerSocket again = TestBed.listen()) {
            return again.getLocalPort();
        }
    }
}
