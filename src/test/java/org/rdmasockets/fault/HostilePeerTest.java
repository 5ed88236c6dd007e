package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Peers that do not keep to the protocol harm themselves only. */
@Tag("device")
class HostilePeerTest {
    private static final byte[] GOOD = new byte[64];
    private static final byte[] EVIL = new byte[64];

    static {
        new Random(1).nextBytes(GOOD);
        Arrays.fill(EVIL, (byte) 0xEE);
    }

    private RawNetwork network;
    private ServerSocket server;
    private EchoService others;
    private Socket bystander;

    @BeforeEach
    void open() throws IOException {
        assumeFalse(TestBed.tcp(), "hostile peers are made of verbs");
        network = new RawNetwork();
        server = TestBed.listen();
        others = new EchoService();
        bystander = others.connect();
    }

    @AfterEach
    void othersAreUnharmed() throws IOException, InterruptedException {
        if (bystander != null) {
            EchoService.assertServes(bystander);
            others.assertServes();
            bystander.close();
            others.close();
            server.close();
            network.close();
        }
    }

    @ParameterizedTest(name = "the {0} of another connection")
    @ValueSource(strings = {"ring", "table"})
    void aPeerWithTheKeyOfAnotherConnectionDiesAndChangesNothing(String target) throws Exception {
        try (RawPeer owner = network.peer(address())) {
            RawPeer.Offer offer = owner.connect();
            try (Socket victim = accept()) {
                assertEquals(0, owner.write(offer.chunkAddress(), offer.chunkKey(), GOOD));
                attack(target.equals("ring") ? offer.chunkAddress() : offer.tableAddress(),
                        target.equals("ring") ? offer.chunkKey() : offer.tableKey());
                assertEquals(0, owner.message(GOOD.length));
                assertArrayEquals(GOOD, victim.getInputStream().readNBytes(GOOD.length), "the victim's ring");
                victim.getOutputStream().write(GOOD);
                owner.awaitReceived(GOOD);
            }
        }
    }

    private void attack(long address, int key) throws Exception {
        try (RawPeer attacker = network.peer(address())) {
            attacker.connect();
            try (Socket attacked = accept()) {
                int status = attacker.write(address, key, EVIL);
                if (!TestBed.iwarp()) {
                    // A completion of siw only says that the bytes are on their way.
                    assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, WorkCompletionStatus.of(status));
                }
                assertDead(attacked);
                attacker.awaitDeath();
            }
        }
    }

    @ParameterizedTest(name = "byte {0} is {1}")
    @CsvSource({"0, 0", "0, 2", "0, 255", "3, 0", "23, 1", "20, 255", "36, 255", "38, 0"})
    void aRequestThatMakesNoSenseIsRejected(int index, int value) throws Exception {
        try (RawPeer peer = network.peer(address())) {
            byte[] privateData = peer.privateData().array();
            privateData[index] = (byte) value;
            peer.request(privateData);
            peer.expect(ConnectionEvent.Rejected.class);
        }
    }

    @Test
    void aRequestOfNoiseIsRejected() throws Exception {
        byte[] noise = new byte[56];
        for (int seed = 0; seed < 10; seed++) {
            new Random(seed).nextBytes(noise);
            noise[0] = (byte) (2 + seed);
            try (RawPeer peer = network.peer(address())) {
                peer.request(noise);
                peer.expect(ConnectionEvent.Rejected.class);
            }
        }
    }

    @Test
    void aRequestThatSaysNothingIsRejected() throws Exception {
        try (RawPeer peer = network.peer(address())) {
            peer.request(new byte[0]);
            peer.expect(ConnectionEvent.Rejected.class);
        }
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"20000000", "40000000", "60000000", "a0000000", // operations that there are not
        "c0000000", // a map where there is no entry
        "00200000", "1fffffff", // more data than was asked for
        "80000000"}) // credits taken back
    void aMessageThatMakesNoSenseEndsItsConnectionAndIsNamed(String message) throws Exception {
        try (RawPeer peer = network.peer(address())) {
            peer.connect();
            try (Socket socket = accept()) {
                peer.message(Integer.parseUnsignedInt(message, 16));
                Attempt.Outcome outcome = Attempt.start("read", socket.getInputStream()::read)
                        .await(TestBed.PATIENCE_MILLIS);
                SocketException e = outcome.failure(SocketException.class);
                assertTrue(e.getMessage().contains("violated by the peer"), e::toString);
                assertThrows(SocketException.class, () -> socket.getOutputStream().write(GOOD));
            }
        }
    }

    /** In C it looks like the end of the stream. */
    @Test
    void aMessageWithoutDataIsNotTheEndOfTheStream() throws Exception {
        try (RawPeer peer = network.peer(address())) {
            RawPeer.Offer offer = peer.connect();
            try (Socket socket = accept()) {
                assertEquals(0, peer.message(0));
                assertEquals(0, peer.write(offer.chunkAddress(), offer.chunkKey(), GOOD));
                assertEquals(0, peer.message(GOOD.length));
                assertArrayEquals(GOOD, socket.getInputStream().readNBytes(GOOD.length));
            }
        }
    }

    @Test
    void aSendThatIsNoMessageEndsItsConnection() throws Exception {
        try (RawPeer peer = network.peer(address())) {
            peer.connect();
            try (Socket socket = accept()) {
                peer.send(3);
                assertDead(socket);
            }
        }
    }

    @Test
    void keysThatDoNotExistEndTheConnectionOfTheirAuthor() throws Exception {
        try (RawPeer peer = network.peer(address())) {
            ByteBuffer privateData = peer.privateData();
            privateData.putInt(16, ~privateData.getInt(16)).putInt(32, ~privateData.getInt(32));
            peer.request(privateData.array());
            peer.expect(ConnectionEvent.Established.class);
            try (Socket socket = accept()) {
                Attempt.start("write", () -> {
                    while (true) {
                        socket.getOutputStream().write(GOOD);
                    }
                }).await(TestBed.PATIENCE_MILLIS).failure(SocketException.class);
                assertDead(socket);
            }
        }
    }

    @Test
    void anAnswerThatMakesNoSenseFailsTheConnect() throws Exception {
        ConnectionIdentifier listener = network.listen(this::answerNonsense);
        try {
            int port = listener.localAddress().getPort();
            Attempt connect = Attempt.start("connect", () -> TestBed.connect(port).getPort());
            SocketException e = connect.await(TestBed.PATIENCE_MILLIS).failure(SocketException.class);
            assertFalse(e.getMessage().contains("timed out"), e::toString);
        } finally {
            listener.close();
        }
    }

    /** A peer that takes no events in never tells the listener that it has the answer; over iWARP the kernel does. */
    @Test
    void handshakesThatAreNeverFinishedKeepNobodyOut() throws Exception {
        if (TestBed.iwarp()) {
            System.out.println("HostilePeerTest skips unfinished handshakes: the kernel finishes those of iWARP");
        }
        assumeFalse(TestBed.iwarp(), "the kernel finishes the handshakes of iWARP");
        int backlog = 3;
        List<RawPeer> silent = new ArrayList<>();
        List<ConnectionManager> managers = new ArrayList<>();
        try (ServerSocket small = new RdmaServerSocket(0, backlog, TestBed.address())) {
            small.setSoTimeout(TestBed.PATIENCE_MILLIS);
            InetSocketAddress destination = new InetSocketAddress(TestBed.address(), small.getLocalPort());
            for (int i = 0; i < backlog; i++) {
                ConnectionManager manager = Providers.ibverbs().createConnectionManager();
                managers.add(manager);
                BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
                ConnectionIdentifier identifier = manager.createIdentifier((id, event) -> events.add(event));
                identifier.resolveAddress(destination, TestBed.PATIENCE_MILLIS);
                Await.until("an address", () -> manager.drainEvents() > 0);
                identifier.resolveRoute(TestBed.PATIENCE_MILLIS);
                Await.until("a route", () -> manager.drainEvents() > 0);
                RawPeer.expect(ConnectionEvent.AddressResolved.class, events);
                RawPeer.expect(ConnectionEvent.RouteResolved.class, events);
                silent.add(new RawPeer(identifier, events));
                silent.getLast().request(silent.getLast().privateData().array());
            }
            try (Socket honest = TestBed.connect(destination); Socket accepted = small.accept()) {
                assertEquals(honest.getLocalPort(), accepted.getPort(), "who finished its handshake");
                honest.getOutputStream().write(7);
                assertEquals(7, accepted.getInputStream().read());
            }
        } finally {
            for (RawPeer peer : silent) {
                peer.close();
            }
            managers.forEach(ConnectionManager::close);
        }
    }

    private void answerNonsense(ConnectionEvent.ConnectRequest request) {
        BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
        request.identifier().handler((identifier, event) -> events.add(event));
        try (RawPeer peer = new RawPeer(request.identifier(), events)) {
            byte[] answer = peer.privateData().put(0, (byte) 9).array();
            request.identifier().accept(new ConnectionParameters(answer, request.parameters().responderResources(),
                    request.parameters().initiatorDepth(), 6, 7));
            peer.expect(ConnectionEvent.class);
        } catch (VerbsException | InterruptedException e) {
            System.err.println("the bad answer was not given: " + e);
        }
    }

    private InetSocketAddress address() throws IOException {
        return new InetSocketAddress(TestBed.address(), server.getLocalPort());
    }

    private Socket accept() throws IOException {
        Socket socket = server.accept();
        socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
        return socket;
    }

    /** End of stream or an exception, but no data and no waiting. */
    private static void assertDead(Socket socket) throws IOException, InterruptedException {
        Attempt.Outcome outcome = Attempt.start("read", socket.getInputStream()::read).await(TestBed.PATIENCE_MILLIS);
        if (outcome.failure() == null) {
            assertEquals(-1, outcome.value(), "read");
        } else {
            outcome.failure(SocketException.class);
        }
    }
}
