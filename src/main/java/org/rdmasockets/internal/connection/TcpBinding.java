package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;

/** A local address and port of TCP for a connection to be: an ordinary {@code java.net.Socket} holds it. */
public final class TcpBinding implements AutoCloseable {
    /** The holder of a port for a connection over another transport; few ask for their port. */
    private static final Map<VerbsConnection, Socket> KEPT = new ConcurrentHashMap<>();
    /** How often a close is tried again after an {@code Error}, each time a moment later: memory may come back. */
    private static final int CLOSE_TRIES = 40;

    private final Socket socket;
    /** The socket is a connection's from now on. */
    private volatile boolean handedOver;

    /** Holds nothing yet: connect will take what it needs. */
    public TcpBinding(PendingOptions wishes) {
        socket = wishes.direct() ? new Socket(Proxy.NO_PROXY) : new Socket();
    }

    /** Takes a local address, perhaps the wildcard; port 0 is any. {@code BindException} if it is not to be had. */
    public static TcpBinding open(InetSocketAddress local, PendingOptions wishes) throws IOException {
        TcpBinding binding = new TcpBinding(wishes);
        try {
            wishes.applyTo(binding.socket.supportedOptions(), binding.socket::setOption);
            binding.socket.bind(local);
            return binding;
        } catch (Throwable e) {
            binding.close();
            throw e;
        }
    }

    /** The bound address and the port in use. */
    public InetSocketAddress localAddress() {
        return new InetSocketAddress(socket.getLocalAddress(), Math.max(0, socket.getLocalPort()));
    }

    /**
     * Connects until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for the system's; {@code leastNanos}, if
     * not 0, is the peer's time instead, once this process is loaded. If that fails, nothing is held any more. Throws
     * what {@code java.net.Socket} throws; as {@link Connection#read}, too, if interrupted or closed meanwhile.
     */
    public Connection connect(InetSocketAddress remote, long deadlineNanos, long leastNanos, PendingOptions wishes)
            throws IOException {
        if (leastNanos == 0 && deadlineNanos != Long.MAX_VALUE && NanoTimes.remaining(deadlineNanos) == 0) {
            close();
            throw NetErrors.connectTimedOut();
        }
        if (socket.isClosed()) {
            throw NetErrors.closed();
        }
        try {
            wishes.applyTo(socket.supportedOptions(), socket::setOption);
            socket.setOOBInline(wishes.urgentInline());
            socket.connect(remote,
                    TcpConnection.millisUntil(leastNanos == 0 ? deadlineNanos : System.nanoTime() + leastNanos));
            Connection connection = new TcpConnection(socket);
            handedOver = true;
            return connection;
        } catch (SocketTimeoutException e) {
            throw NetErrors.connectTimedOut(); // the JDK has no text for one that is over before the first packet
        } catch (SocketException e) {
            throw endedByOthers(e) ? TcpConnection.translated(e, socket) : e;
        } finally {
            close();
        }
    }

    /**
     * Holds the port for as long as a connection over another transport lives, which has the same port and which no
     * other thread has yet: no other connection of this host shall come from that port.
     */
    public void keepFor(VerbsConnection connection) {
        KEPT.put(connection, socket);
        handedOver = true;
    }

    /** A connection ends: gives back what is held for it. */
    static void releaseFor(VerbsConnection connection) {
        Socket port = KEPT.remove(connection);
        if (port != null) {
            close(port);
        }
    }

    /** Closes a socket that no other thread has: after an {@code Error} tries again, so that its peer does not wait. */
    static void close(Socket socket) {
        for (int left = CLOSE_TRIES;; left--) {
            try {
                socket.close();
                return;
            } catch (IOException e) {
                return; // the descriptor is gone all the same: Linux frees it whatever close(2) says
            } catch (Error e) {
                if (left == 0) {
                    throw e;
                }
                LibraryThreads.pause();
            }
        }
    }

    /** A failed connect closes its socket too, so only the text tells. */
    private static boolean endedByOthers(SocketException e) {
        String text = String.valueOf(e.getMessage());
        return text.startsWith("Socket closed") || text.startsWith("Socket is closed")
                || text.startsWith("Closed by interrupt");
    }

    /** Gives the address back, unless a connection has it. A connect in progress ends with "Socket closed". */
    @Override
    public void close() {
        if (!handedOver) {
            close(socket);
        }
    }
}
