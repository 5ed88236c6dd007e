package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.SocketFixture.Ability;

/** An interrupt closes the socket that a virtual thread is blocked on, and does nothing to platform threads. */
abstract class InterruptContract extends SocketContract {
    private static final String TEXT = "Closed by interrupt";
    private static final int TOO_MUCH = 1 << 25;

    private static void assertClosedByInterrupt(Call<?> call) {
        assertEquals(TEXT, call.failure(SocketException.class).getMessage());
        assertTrue(call.interruptedAtEnd(), "the interrupt status stays set");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void aVirtualReaderIsClosed(int timeoutMillis) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(timeoutMillis);
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        read.interrupt();
        assertClosedByInterrupt(read);
        assertTrue(pair.client().isClosed());
    }

    @Test
    void aVirtualWriterIsClosed() throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write",
                () -> pair.client().getOutputStream().write(new byte[TOO_MUCH])).awaitBlocked();
        write.interrupt();
        assertClosedByInterrupt(write);
        assertTrue(pair.client().isClosed());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void aVirtualAcceptorIsClosed(int timeoutMillis) throws Exception {
        ServerSocket listener = listening();
        listener.setSoTimeout(timeoutMillis);
        Call<Socket> accept = Call.start(ThreadKind.VIRTUAL, "accept", listener::accept).awaitBlocked();
        accept.interrupt();
        assertClosedByInterrupt(accept);
        assertTrue(listener.isClosed());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void aVirtualConnectorIsClosed(int timeoutMillis) throws Exception {
        needs(Ability.SILENT_DESTINATION);
        InetSocketAddress destination = fixture().silentDestination(this);
        Socket client = socket();
        Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect", () -> client.connect(destination, timeoutMillis))
                .awaitBlocked();
        connect.interrupt();
        assertClosedByInterrupt(connect);
        assertTrue(client.isClosed());
    }

    @Test
    void aVirtualThreadThatWasInterruptedBeforeIsClosedWhenItWouldBlock() throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> {
            Thread.currentThread().interrupt();
            return pair.client().getInputStream().read();
        });
        assertClosedByInterrupt(read);
        assertTrue(pair.client().isClosed());
    }

    @Test
    void aVirtualThreadThatWasInterruptedBeforeGetsWhatIsThere() throws Exception {
        SocketPair pair = pair();
        pair.server().getOutputStream().write(11);
        Await.until("a byte is there", () -> pair.client().getInputStream().available() == 1);
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> {
            Thread.currentThread().interrupt();
            return pair.client().getInputStream().read();
        });
        assertEquals(11, read.result());
        assertTrue(read.interruptedAtEnd());
        assertFalse(pair.client().isClosed());
    }

    /** The JDK looks whether it is connected before it waits, and within a host it is. */
    @Test
    void aVirtualThreadThatWasInterruptedBeforeConnectsWithinATime() throws Exception {
        ServerSocket listener = listening();
        for (int i = 0; i < 10; i++) {
            Socket client = socket();
            Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect", () -> {
                Thread.currentThread().interrupt();
                client.connect(addressOf(listener), 30_000);
            });
            connect.result();
            assertTrue(connect.interruptedAtEnd(), "the interrupt status stays set");
            assertTrue(client.isConnected());
            assertEquals(client.getLocalPort(), acceptFrom(listener).getPort());
        }
    }

    @Test
    void aVirtualThreadThatWasInterruptedBeforeIsRefusedWithinATime() throws Exception {
        ServerSocket listener = listening();
        InetSocketAddress nobody = addressOf(listener);
        listener.close();
        ProcessStarts.await();
        Socket client = socket();
        Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect", () -> {
            Thread.currentThread().interrupt();
            client.connect(nobody, 30_000);
        });
        connect.failure(ConnectException.class);
        assertTrue(connect.interruptedAtEnd(), "the interrupt status stays set");
    }

    /** Without a time the JDK waits in any case. */
    @Test
    void aVirtualThreadThatWasInterruptedBeforeDoesNotConnectWithoutATime() throws Exception {
        ServerSocket listener = listening();
        Socket client = socket();
        Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect", () -> {
            Thread.currentThread().interrupt();
            client.connect(addressOf(listener));
        });
        assertClosedByInterrupt(connect);
        assertTrue(client.isClosed());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void aVirtualThreadThatWasInterruptedBeforeAcceptsWhoIsConnected(int timeoutMillis) throws Exception {
        ServerSocket listener = listening();
        listener.setSoTimeout(timeoutMillis);
        for (int i = 0; i < 10; i++) {
            Call<Integer> accept = Call.start(ThreadKind.VIRTUAL, "connect and accept", () -> {
                Socket client = connectedTo(listener);
                Thread.currentThread().interrupt();
                return acceptFrom(listener).getPort() - client.getLocalPort();
            });
            assertEquals(0, accept.result());
            assertTrue(accept.interruptedAtEnd(), "the interrupt status stays set");
        }
        assertFalse(listener.isClosed());
    }

    @Test
    void aVirtualThreadThatWasInterruptedBeforeWritesWhereThereIsRoom() throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            Thread.currentThread().interrupt();
            pair.client().getOutputStream().write(new byte[1000]);
        });
        write.result();
        assertTrue(write.interruptedAtEnd(), "the interrupt status stays set");
        assertEquals(1000, pair.server().getInputStream().readNBytes(1000).length);
    }

    /** The turn of another is waited for like a lock, and what is there then is read. */
    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void anInterruptDoesNotEndTheWaitForAnotherReader(int timeoutMillis) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(timeoutMillis);
        Call<Integer> first = Call.start(ThreadKind.PLATFORM, "first read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        Call<Integer> second = Call.start(ThreadKind.VIRTUAL, "second read",
                () -> pair.client().getInputStream().read()).awaitBlocked();
        second.interrupt();
        second.awaitBlocked();
        pair.server().getOutputStream().write(new byte[] {1, 2});
        assertEquals(1, first.result());
        assertEquals(2, second.result());
        assertTrue(second.interruptedAtEnd(), "the interrupt status stays set");
        assertFalse(pair.client().isClosed());
    }

    @Test
    void thePeerOfAnInterruptedSocketReadsItsEnd() throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        read.interrupt();
        assertClosedByInterrupt(read);
        assertEquals(-1, pair.server().getInputStream().read());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 60_000})
    void aPlatformReaderReadsOn(int timeoutMillis) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(timeoutMillis);
        Call<Integer> read = Call.start(ThreadKind.PLATFORM, "read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        read.interrupt();
        read.awaitBlocked();
        pair.server().getOutputStream().write(12);
        assertEquals(12, read.result());
        assertTrue(read.interruptedAtEnd(), "the interrupt status stays set");
        assertFalse(pair.client().isClosed());
    }

    @Test
    void aPlatformReaderStillTimesOut() throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(400);
        Call<Integer> read = Call.start(ThreadKind.PLATFORM, "read", () -> {
            Thread.currentThread().interrupt();
            return pair.client().getInputStream().read();
        });
        read.failure(SocketTimeoutException.class);
        assertTrue(read.interruptedAtEnd());
        assertFalse(pair.client().isClosed());
    }

    @Test
    void aPlatformWriterWritesOn() throws Exception {
        SocketPair pair = pair();
        byte[] sent = new byte[TOO_MUCH];
        Call<Void> write = Call.run(ThreadKind.PLATFORM, "write", () -> pair.client().getOutputStream().write(sent))
                .awaitBlocked();
        write.interrupt();
        write.awaitBlocked();
        assertEquals(sent.length, pair.server().getInputStream().readNBytes(sent.length).length);
        write.result();
        assertTrue(write.interruptedAtEnd());
    }

    @Test
    void aPlatformAcceptorAcceptsOn() throws Exception {
        ServerSocket listener = listening();
        Call<Socket> accept = Call.start(ThreadKind.PLATFORM, "accept", () -> acceptFrom(listener)).awaitBlocked();
        accept.interrupt();
        accept.awaitBlocked();
        Socket client = connectedTo(listener);
        assertEquals(client.getLocalPort(), accept.result().getPort());
        assertTrue(accept.interruptedAtEnd());
        assertFalse(listener.isClosed());
    }

    @Test
    void aPlatformConnectorConnectsOn() throws Exception {
        ServerSocket listener = listening();
        Socket client = socket();
        Call<Void> connect = Call.run(ThreadKind.PLATFORM, "connect", () -> {
            Thread.currentThread().interrupt();
            client.connect(addressOf(listener), 30_000);
        });
        connect.result();
        assertTrue(connect.interruptedAtEnd());
        assertTrue(client.isConnected());
    }
}
