package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.ReceivedBytes;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.guard.Counts.What;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The cost of a message. One thread plays both ends, so that nothing depends on which end is faster: one end writes,
 * then the other reads. Limits are those of the data path as it is, and little more. A busy machine can make a
 * round dearer, because spinning threads make way for others; so one round of several has to keep the limits.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@Isolated
abstract class DataPathContract {
    private static final int ROUNDS = 8;
    private static final int WAIT_SECONDS = 240;
    private static final int SMALL = 64;
    private static final int LARGE = 64 << 10;
    /** Messages that are written before the first of them is read. */
    private static final int BURST = 16;
    /** Garbage of the JDK when it parks a virtual thread, without and with a time limit; platform threads make none. */
    private static final int PARK_GARBAGE = 32;
    private static final int TIMED_PARK_GARBAGE = 120;
    /** Views per large message: the device may split it, and a chunk ends somewhere. */
    private static final int VIEWS = 2;
    /** Garbage of a view: itself, its arena and its segments. */
    private static final int VIEW_GARBAGE = 400;
    /**
     * One credit update for half of the peer's credits, which are 112 unless the application says otherwise, and one
     * for a small chunk, which takes 191 messages.
     */
    static final double UPDATES = 1 / 50.0 + 1 / 185.0;

    private final Counts counts = new Counts();
    private TestReporter reporter;
    private Replacement replacement;
    private ServerSocket listener;
    private RdmaSocket client;
    private RdmaSocket server;

    /** The provider of the sockets, without counts. */
    abstract VerbsProvider provider();

    /** Where they connect. */
    abstract InetAddress address();

    /** How many messages make a round; devices differ in their speed. */
    abstract int messages();

    /** How often the queue may be armed per message, by a thread that does not wait. */
    abstract double arming();

    /** How often a message is found to be sent by a poll of its own. */
    double ownEvents() {
        return 0;
    }

    /** Less than a byte per message: what is left is the compiler's doing, and the poller's few looks per second. */
    double noGarbage() {
        return 0.9;
    }

    /** As {@link #noGarbage} for a message of 64 KiB, which takes longer. */
    double largeGarbage() {
        return 10 * noGarbage();
    }

    /** How often the queue may make an event per message of 64 KiB, which is two writes. */
    double largeEvents() {
        return events(0.2);
    }

    /** Whether a message is usually there before the reader's longest spin ends. */
    boolean isPrompt() {
        return true;
    }

    /** How often the queue may make an event per message that comes soon, where a few make one. */
    double events(double few) {
        return few;
    }

    /** Garbage of waking a thread, in bytes; less than an object is the compiler's doing. */
    double wakingGarbage() {
        return 8;
    }

    /** Whether a write carries its message; on iWARP a send follows it, and every request completes visibly. */
    boolean immediateData() {
        return true;
    }

    /** How many completions a message of 64 B brings of many that are written before one is read. */
    double burstCompletions() {
        return immediateData() ? 1 + 1 / 14.0 : 3;
    }

    /** How many completions a message of 64 KiB brings. */
    double largeCompletions() {
        return 2.1;
    }

    /** How often a small message is copied on its way out. */
    abstract double smallCopies();

    /** How often what is sent from a buffer of the socket is copied on its way out. */
    double directCopies() {
        return 1.001;
    }

    @BeforeEach
    void connect(TestReporter testReporter) throws IOException {
        reporter = testReporter;
        VerbsProvider counted = new CountedVerbs(provider(), counts);
        replacement = new Replacement(counted);
        Transport forced = new Transport(counted.name(), "");
        listener = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        listener.bind(new InetSocketAddress(address(), 0));
        client = new RdmaSocket();
        client.setOption(RdmaSocketOptions.TRANSPORT, forced);
        client.connect(listener.getLocalSocketAddress());
        server = (RdmaSocket) listener.accept();
    }

    @AfterEach
    void disconnect() throws IOException {
        replacement.close();
        listener.close();
        client.close();
        server.close();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void roundTripsOfSmallMessages(ThreadKind kind) throws Exception {
        byte[] message = new byte[SMALL];
        keeps(kind, small().times(What.POLL, 1 + UPDATES + events(0) + ownEvents()), messages(), () -> {
            for (int i = 0; i < messages(); i += 2) {
                pass(client, server, message, 1);
                pass(server, client, message, 1);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void streamsOfSmallMessages(ThreadKind kind) throws Exception {
        byte[] message = new byte[SMALL];
        Limits limits = small().times(What.COMPLETION, burstCompletions() + (immediateData() ? 2 : 3) * UPDATES);
        keeps(kind, limits, messages(), () -> {
            for (int i = 0; i < messages(); i += BURST) {
                pass(client, server, message, BURST);
            }
        });
    }

    private Limits small() {
        return messages(noGarbage()).copies(smallCopies()).times(What.ARM, arming())
                .times(What.EVENT, events(0.1)).garbageOfWait(PARK_GARBAGE + wakingGarbage());
    }

    /** Any message: its receive is posted together with others, and its write is seldom signalled. */
    private Limits messages(double garbage) {
        int requests = immediateData() ? 1 : 2;
        double completions = immediateData() ? 1 + 1 / 14.0 : 3;
        double receives = immediateData() ? 1 / 8.0 : 1;
        return new Limits().garbage(garbage).times(What.SIGN_OF_LIFE, 0.1)
                .times(What.POST_SEND, requests * (1 + UPDATES))
                .times(What.COMPLETION, completions + (1 + requests) * UPDATES)
                .times(What.POST_RECEIVE, receives + UPDATES + UPDATES * receives);
    }

    /** Every half of a ring is a chunk: it takes one message to fill it, and one to lend it again. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void streamsOfLargeMessages(ThreadKind kind) throws Exception {
        byte[] message = new byte[LARGE];
        int count = messages() / 10;
        Limits limits = new Limits().garbage(largeGarbage()).copies(1.001)
                .times(What.POST_SEND, immediateData() ? 2 : 4)
                .times(What.POST_RECEIVE, 2).times(What.COMPLETION, largeCompletions())
                .times(What.EVENT, largeEvents()).garbageOfWait(PARK_GARBAGE + wakingGarbage());
        keeps(kind, limits, count, () -> {
            for (int i = 0; i < count; i++) {
                pass(client, server, message, 1);
            }
        });
    }

    /** No copy is made to post them; one more completion each shows that they were sent. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void streamsFromBuffersOfTheSocket(ThreadKind kind) throws Exception {
        byte[] message = new byte[LARGE];
        int count = messages() / 10;
        Limits limits = new Limits().garbage(largeGarbage()).copies(directCopies())
                .times(What.POST_SEND, immediateData() ? 2 : 4)
                .times(What.POST_RECEIVE, 2).times(What.COMPLETION, largeCompletions() + 1)
                .garbageOfWait(PARK_GARBAGE + wakingGarbage());
        try (RdmaBuffer buffer = client.allocateBuffer(LARGE)) {
            counts.own(buffer.segment());
            keeps(kind, limits, count, () -> {
                for (int i = 0; i < count; i++) {
                    client.write(buffer, 0, LARGE);
                    assertEquals(LARGE, server.getInputStream().readNBytes(message, 0, LARGE));
                }
            });
        }
    }

    /** No copy is made to read them; the view and its arena are all that is allocated. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void viewsOfLargeMessages(ThreadKind kind) throws Exception {
        byte[] message = new byte[LARGE];
        int count = messages() / 10;
        Limits limits = new Limits().garbage(VIEWS * VIEW_GARBAGE).copies(1.001)
                .times(What.POST_SEND, immediateData() ? 2 : 4)
                .times(What.POST_RECEIVE, 2).times(What.COMPLETION, largeCompletions())
                .garbageOfWait(PARK_GARBAGE + wakingGarbage());
        keeps(kind, limits, count, () -> {
            for (int i = 0; i < count; i++) {
                client.getOutputStream().write(message);
                for (long done = 0; done < LARGE;) {
                    try (ReceivedBytes received = server.receive()) {
                        done += received.segment().byteSize();
                    }
                }
            }
        });
    }

    /** A waiter that outlasts spinning costs the garbage of the JDK's park; waking costs nothing. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void readsThatPark(ThreadKind kind) throws Exception {
        parks(kind, kind == ThreadKind.VIRTUAL ? PARK_GARBAGE : 0);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void readsThatParkForALimitedTime(ThreadKind kind) throws Exception {
        server.setSoTimeout(WAIT_SECONDS * 1000);
        parks(kind, kind == ThreadKind.VIRTUAL ? TIMED_PARK_GARBAGE : 0);
    }

    private void parks(ThreadKind kind, double garbage) throws Exception {
        int count = messages() / 8;
        Reader reader = new Reader(kind, server, SMALL);
        byte[] message = new byte[SMALL];
        int[] written = {0};
        Limits limits = messages(garbage + wakingGarbage());
        keeps(ThreadKind.PLATFORM, limits, count, () -> {
            for (int i = 0; i < count; i++) {
                reader.awaitParked(written[0]);
                client.getOutputStream().write(message);
                written[0]++;
            }
        });
        client.shutdownOutput();
        reader.join();
    }

    /** Messages in one direction, some at a time. */
    private static void pass(Socket from, Socket to, byte[] message, int times) throws IOException {
        OutputStream out = from.getOutputStream();
        for (int i = 0; i < times; i++) {
            out.write(message);
        }
        InputStream in = to.getInputStream();
        for (int i = 0; i < times; i++) {
            assertEquals(message.length, in.readNBytes(message, 0, message.length));
        }
    }

    /** Does some work twice, to warm up, and then until its cost is within the limits. */
    private void keeps(ThreadKind kind, Limits limits, int count, Cost.Work work) throws Exception {
        Call.run(kind, "pass messages", () -> {
            work.run();
            work.run();
            StringBuilder excess = new StringBuilder();
            for (int round = 0; round < ROUNDS; round++) {
                Cost cost = Cost.of(counts, count, work);
                String exceeded = (isPrompt() ? limits : limits.withoutWaits()).exceededBy(cost);
                if (exceeded.isEmpty()) {
                    reporter.publishEntry("cost", cost.toString());
                    return;
                }
                excess.append('\n').append(exceeded).append(" (").append(cost).append(')');
            }
            fail("a message costs more than it may, in each round:" + excess);
        }).result(WAIT_SECONDS);
    }
}
