package org.rdmasockets.fault;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.function.Predicate;
import jdk.net.ExtendedSocketOptions;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/**
 * Takes the link of the device away under open connections, and gives it back. On RoCE an idle connection notices
 * nothing and survives, as with TCP, while a busy one breaks; soft-iWARP reports everything as disconnected. See
 * {@code src/test/guest/faults}.
 */
final class LinkDown {
    /** The deadline for unacknowledged data, and a margin. */
    private static final long WRITE_MILLIS = 35_000;
    private static final int READ_TIMEOUT_MILLIS = 3_000;
    private static final int CONNECT_TIMEOUT_MILLIS = 3_000;
    private static final long MARGIN_MILLIS = 2_000;

    private final Promises promises = new Promises();
    private final String link = TestBed.iwarp() ? "v0" : "d0";
    private final EchoService others;

    /** One end of each is ours to watch, the other is kept open here. */
    private final ServerSocket server = TestBed.listen();
    private final Socket idle = TestBed.connect(server.getLocalPort());
    private final Socket idlePeer = server.accept();
    private final Socket read = TestBed.connect(server.getLocalPort());
    private final Socket readPeer = server.accept();
    private final Socket written = TestBed.connect(server.getLocalPort());
    private final Socket writtenPeer = server.accept();

    private LinkDown() throws IOException {
        others = new EchoService(InetAddress.getByName(TestBed.iwarp() ? "10.77.0.1" : "10.78.0.1"));
    }

    /**
     * Prints what was seen; the exit status is 0 if all is as promised.
     */
    static void main() throws Exception {
        LinkDown test = new LinkDown();
        test.takeLinkAway();
        test.giveLinkBack();
        test.promises.exit();
    }

    private void takeLinkAway() throws IOException, InterruptedException {
        read.setSoTimeout(READ_TIMEOUT_MILLIS);
        // As with TCP, a mere reader does not notice that a writer died on the other side of a link that is down:
        writtenPeer.setKeepAlive(true);
        writtenPeer.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 2);
        Attempt sink = Attempt.start("sink", () -> (int) writtenPeer.getInputStream()
                .transferTo(OutputStream.nullOutputStream()));
        Attempt writer = Attempt.start("writer", this::writeForEver);
        promises.works("a connection over the other device, before", others::assertServes);
        set("down");
        long down = System.nanoTime();
        Attempt reader = Attempt.start("reader", read.getInputStream()::read);
        if (TestBed.iwarp()) {
            promises.ends("a blocked reader", reader, down, MARGIN_MILLIS, Promises::isGone);
        } else {
            promises.ends("a blocked reader with a timeout of 3 s", reader, down, READ_TIMEOUT_MILLIS + MARGIN_MILLIS,
                    outcome -> outcome.failure() instanceof SocketTimeoutException);
        }
        promises.ends("a busy writer", writer, down, WRITE_MILLIS, o -> o.failure() instanceof SocketException);
        promises.ends("its peer, which only reads, with keepalive", sink, down, 2 * WRITE_MILLIS, Promises::isGone);
        promises.works("a connection over the other device, meanwhile", others::assertServes);
        connect("a connect with a timeout of 3 s", outcome -> outcome.failure() != null);
    }

    private void giveLinkBack() throws IOException, InterruptedException {
        set("up");
        if (TestBed.iwarp()) {
            Attempt reader = Attempt.start("idle", idle.getInputStream()::read);
            promises.ends("the idle connection", reader, System.nanoTime(), MARGIN_MILLIS, Promises::isGone);
            promises.works("a new connection", () -> {
                try (EchoService again = new EchoService()) {
                    again.assertServes();
                }
            });
        } else {
            promises.works("the idle connection carries data again", () -> {
                Attempt echo = Attempt.start("echo", () -> {
                    byte[] data = idlePeer.getInputStream().readNBytes(10_000);
                    idlePeer.getOutputStream().write(data);
                    return data.length;
                });
                EchoService.assertServes(idle);
                echo.await(TestBed.PATIENCE_MILLIS);
            });
            // The connection manager of rxe may be beyond repair until the device is made anew: only the time counts.
            connect("a connect with a timeout of 3 s, after", outcome -> true);
        }
        promises.works("a connection over the other device, after", others::assertServes);
        for (Socket socket : List.of(idle, idlePeer, read, readPeer, written, writtenPeer)) {
            socket.close();
        }
    }

    private void connect(String what, Predicate<Attempt.Outcome> as) throws InterruptedException {
        long start = System.nanoTime();
        Attempt connect = Attempt.start("connect", () -> {
            try (Socket socket = TestBed.socket()) {
                socket.connect(new InetSocketAddress(TestBed.address(), server.getLocalPort()),
                        CONNECT_TIMEOUT_MILLIS);
                return 1;
            }
        });
        promises.ends(what, connect, start, CONNECT_TIMEOUT_MILLIS + MARGIN_MILLIS, as);
    }

    private int writeForEver() throws IOException {
        byte[] data = new byte[10_000];
        while (true) {
            written.getOutputStream().write(data);
        }
    }

    private void set(String state) throws IOException, InterruptedException {
        try (Program ip = Program.start("ip", "link", "set", link, state)) {
            ip.awaitSuccess();
        }
        System.out.println("        " + link + " is " + state);
    }
}
