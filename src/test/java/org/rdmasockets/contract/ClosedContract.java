package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The behaviour of a socket, and of its streams, that is closed, shut or at its end. */
abstract class ClosedContract extends SocketContract {
    @Test
    void everyGetterAndSetterOfAClosedSocketSaysSo() throws IOException {
        Socket fresh = socket();
        Socket connected = pair().client();
        for (Socket socket : List.of(fresh, connected)) {
            socket.close();
            for (Executable operation : operationsOf(socket)) {
                assertRefused(SocketException.class, "Socket ", operation);
                assertTrue(assertThrows(SocketException.class, operation).getMessage().endsWith("closed"));
            }
            assertTrue(socket.isClosed());
            assertFalse(socket.isInputShutdown() || socket.isOutputShutdown());
        }
        assertFalse(fresh.isBound() || fresh.isConnected());
        assertTrue(connected.isBound() && connected.isConnected());
    }

    private static List<Executable> operationsOf(Socket socket) {
        return List.of(socket::getInputStream, socket::getOutputStream, socket::shutdownInput, socket::shutdownOutput,
                socket::getSoTimeout, () -> socket.setSoTimeout(-1), socket::getSoLinger,
                () -> socket.setSoLinger(true, -1), socket::getTcpNoDelay, () -> socket.setTcpNoDelay(true),
                socket::getKeepAlive, () -> socket.setKeepAlive(true), socket::getTrafficClass,
                () -> socket.setTrafficClass(0), socket::getReuseAddress, () -> socket.setReuseAddress(true),
                socket::getOOBInline, () -> socket.setOOBInline(false), socket::getSendBufferSize,
                () -> socket.setSendBufferSize(1), socket::getReceiveBufferSize,
                () -> socket.setReceiveBufferSize(1), () -> socket.bind(null),
                () -> socket.connect(new InetSocketAddress(1)),
                () -> socket.getOption(StandardSocketOptions.SO_SNDBUF),
                () -> socket.setOption(StandardSocketOptions.SO_SNDBUF, -1));
    }

    @Test
    void everyGetterAndSetterOfAClosedListenerSaysSo() throws IOException {
        for (ServerSocket listener : List.of(serverSocket(), listening())) {
            listener.close();
            listener.close();
            for (Executable operation : List.<Executable>of(listener::accept, listener::getSoTimeout,
                    () -> listener.setSoTimeout(1), listener::getReuseAddress, () -> listener.setReuseAddress(true),
                    listener::getReceiveBufferSize, () -> listener.setReceiveBufferSize(1),
                    () -> listener.bind(null), () -> listener.getOption(StandardSocketOptions.SO_RCVBUF),
                    () -> listener.setOption(StandardSocketOptions.SO_RCVBUF, 1000))) {
                assertRefused(SocketException.class, "Socket is closed", operation);
            }
        }
    }

    @Test
    void streamsOfAClosedSocketCheckTheirArgumentsFirst() throws IOException {
        Socket socket = pair().client();
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        socket.close();
        assertThrows(IndexOutOfBoundsException.class, () -> in.read(new byte[2], 1, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> out.write(new byte[2], 1, 2));
        assertThrows(NullPointerException.class, () -> in.read(null, 0, 0));
        assertThrows(NullPointerException.class, () -> out.write(null, 0, 0));
        assertEquals(0, in.read(new byte[0]));
        out.write(new byte[0]);
        out.flush();
        in.close();
        out.close();
        assertRefused(SocketException.class, "Socket closed", () -> in.read(new byte[1]));
        assertRefused(SocketException.class, "Socket closed", () -> in.skip(1));
        assertRefused(SocketException.class, "Socket closed", in::readAllBytes);
        assertRefused(SocketException.class, "Socket closed", in::available);
        assertRefused(SocketException.class, "Socket closed", () -> out.write(new byte[1]));
    }

    @Test
    void zeroLengthsNeverFail() throws IOException {
        SocketPair pair = pair();
        InputStream in = pair.client().getInputStream();
        OutputStream out = pair.client().getOutputStream();
        pair.server().shutdownOutput();
        assertEquals(-1, in.read());
        assertEquals(0, in.read(new byte[0]), "at the end of the stream");
        assertEquals(0, in.read(new byte[4], 4, 0));
        pair.client().shutdownInput();
        assertEquals(0, in.read(new byte[0]), "input is shut");
        pair.client().shutdownOutput();
        out.write(new byte[0]);
        out.write(new byte[4], 4, 0);
        out.flush();
    }

    @Test
    void anEndThatWasReadOutlivesTheClose() throws IOException {
        SocketPair shut = pair();
        InputStream ofShut = shut.client().getInputStream();
        shut.client().shutdownInput();
        SocketPair ended = pair();
        InputStream ofEnded = ended.client().getInputStream();
        ended.server().close();
        assertEquals(-1, ofShut.read());
        assertEquals(-1, ofEnded.read());
        shut.client().close();
        ended.client().close();
        for (InputStream in : List.of(ofShut, ofEnded)) {
            assertEquals(-1, in.read());
            assertEquals(0, in.readAllBytes().length);
            assertEquals(0, in.skip(1));
            assertRefused(SocketException.class, "Socket closed", in::available);
        }
    }

    @Test
    void anEndThatNobodyReadIsLostWithTheClose() throws IOException {
        Socket socket = pair().client();
        InputStream in = socket.getInputStream();
        socket.shutdownInput();
        socket.close();
        assertRefused(SocketException.class, "Socket closed", in::read);
        assertTrue(socket.isInputShutdown());
    }

    @Test
    void shuttingStaysKnownAfterTheClose() throws IOException {
        Socket socket = pair().client();
        socket.shutdownInput();
        socket.shutdownOutput();
        assertFalse(socket.isClosed());
        assertRefused(SocketException.class, "Socket input is shutdown", socket::getInputStream);
        assertRefused(SocketException.class, "Socket output is shutdown", socket::getOutputStream);
        socket.setSoTimeout(7);
        assertEquals(7, socket.getSoTimeout(), "options outlive the streams");
        socket.close();
        assertTrue(socket.isInputShutdown() && socket.isOutputShutdown());
        assertRefused(SocketException.class, "Socket is closed", socket::shutdownInput);
        assertRefused(SocketException.class, "Socket is closed", socket::shutdownOutput);
    }

    @Test
    void streamsAreThoseOfTheJdk() throws IOException {
        SocketPair pair = pair();
        InputStream in = pair.client().getInputStream();
        assertFalse(in.markSupported());
        assertRefused(IOException.class, "mark/reset not supported", in::reset);
        assertRefused(IllegalArgumentException.class, "len < 0", () -> in.readNBytes(-1));
        assertEquals(0, in.skip(0));
        assertEquals(0, in.skip(-1));
        pair.server().getOutputStream().write(new byte[] {1, 2, 3, 4});
        in.skipNBytes(2);
        assertEquals(3, in.read());
        assertEquals(4, in.read());
        pair.server().shutdownOutput();
        assertEquals(0, in.skip(2));
        assertThrows(EOFException.class, () -> in.skipNBytes(2));
        assertEquals(0, in.transferTo(OutputStream.nullOutputStream()));
    }

    @Test
    void closingOneStreamClosesTheSocket() throws IOException {
        SocketPair first = pair();
        first.client().getInputStream().close();
        SocketPair second = pair();
        second.client().getOutputStream().close();
        for (SocketPair pair : List.of(first, second)) {
            assertTrue(pair.client().isClosed());
            assertEquals(-1, pair.server().getInputStream().read());
        }
    }

    @Test
    void aBrokenConnectionStillAnswers() throws Exception {
        SocketPair pair = pair();
        pair.server().setSoLinger(true, 0);
        pair.server().close();
        Socket socket = pair.client();
        for (int i = 0; i < 2; i++) {
            assertRefused(SocketException.class, "Connection reset", () -> socket.getInputStream().read());
        }
        assertEquals(0, socket.getInputStream().available());
        SocketException e = assertThrows(SocketException.class, () -> socket.getOutputStream().write(1));
        assertTrue(e.getMessage().contains("reset") || e.getMessage().equals("Broken pipe"), e::getMessage);
        socket.setSoTimeout(9);
        assertEquals(9, socket.getSoTimeout());
        assertEquals(-1, socket.getSoLinger());
        socket.shutdownInput();
        socket.shutdownOutput();
        assertTrue(socket.isConnected() && !socket.isClosed());
        socket.close();
    }
}
