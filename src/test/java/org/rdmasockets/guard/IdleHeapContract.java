package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The heap of an idle connection: both ends, and the virtual thread of each that is parked in a read. Before and after
 * it was used. The stack of such a thread is counted apart: how large it is depends on how far the compilers have come,
 * from 1 KiB where all is compiled to 3 KiB where little is; and a piece that a collection has moved stays as large as
 * it was, while the thread gets a second piece.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@Isolated
abstract class IdleHeapContract {
    private static final String STACK = "jdk.internal.vm.StackChunk";
    private static final int MOST_STACK = 2 * 3072;
    /** Enough for a compiler to have compiled the methods on the stack of a reader. */
    private static final int WARMING = 20_000;

    private final List<Socket> sockets = new ArrayList<>();
    private final List<Thread> readers = new ArrayList<>();
    private final AtomicLong answers = new AtomicLong();
    private TestReporter reporter;
    private Replacement replacement;
    private Transport forced;
    private ServerSocket listener;

    /** The provider of the sockets. */
    abstract VerbsProvider provider();

    /** Where they connect. */
    abstract InetAddress address();

    /** How many connections are made. */
    int connections() {
        return 500;
    }

    /** Most bytes of heap for an end, without its reader's stack. */
    abstract long limit();

    @BeforeEach
    void listen(TestReporter testReporter) throws IOException {
        reporter = testReporter;
        VerbsProvider used = provider();
        replacement = new Replacement(used);
        forced = new Transport(used.name(), "");
        listener = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        listener.bind(new InetSocketAddress(address(), 0), connections());
    }

    @AfterEach
    void close() throws IOException {
        replacement.close();
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    @Test
    void anIdleConnectionTakesLittleOfTheHeap() throws Exception {
        connect().write(1);
        Await.until("answers", () -> answers.get() == WARMING);
        reporter.publishEntry("connections", "" + connections()); // loads classes that are not a connection's
        HeapHistogram.now();
        HeapHistogram before = HeapHistogram.now();
        List<OutputStream> outputs = new ArrayList<>();
        for (int i = 0; i < connections(); i++) {
            outputs.add(connect());
        }
        check("new", before);
        for (OutputStream output : outputs) {
            output.write(1);
        }
        Await.until("answers", () -> answers.get() == WARMING + connections());
        check("used", before);
    }

    private void check(String state, HeapHistogram before) throws Exception {
        Await.until("parked readers", () -> readers.stream().allMatch(t -> t.getState() == Thread.State.WAITING));
        HeapHistogram ours = HeapHistogram.now().since(before);
        int ends = 2 * connections();
        long stack = ours.bytes(STACK) / ends;
        long rest = ours.bytes() / ends - stack;
        String figures = rest + " bytes of heap, and a stack of " + stack + " bytes";
        reporter.publishEntry(state, figures);
        assertTrue(rest <= limit() && stack <= MOST_STACK, () -> "each " + state + " end has " + figures + "; "
                + limit() + " and " + MOST_STACK + " are allowed:\n" + ours.perPart(ends));
    }

    /** Makes a connection of which both ends wait for bytes: one answers each, the other asks again for a while. */
    private OutputStream connect() throws IOException {
        Socket client = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        client.connect(listener.getLocalSocketAddress());
        Socket server = listener.accept();
        OutputStream ask = client.getOutputStream();
        OutputStream answer = server.getOutputStream();
        read(client, () -> {
            if (answers.incrementAndGet() < WARMING) {
                ask.write(1);
            }
        });
        read(server, () -> answer.write(1));
        return ask;
    }

    /** The reaction of a reader to a byte. */
    private interface Use {
        void use() throws IOException;
    }

    private void read(Socket socket, Use use) throws IOException {
        // A thread that spins does not park, and then the compilers do not come to the methods that park.
        socket.setOption(RdmaSocketOptions.SPIN_MICROS, 0);
        sockets.add(socket);
        readers.add(Thread.startVirtualThread(() -> {
            try {
                InputStream in = socket.getInputStream();
                while (in.read() >= 0) {
                    use.use();
                }
            } catch (IOException e) {
                if (!socket.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }));
    }
}
