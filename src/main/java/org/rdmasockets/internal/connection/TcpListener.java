package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.Log;

/**
 * Listens on TCP with a {@code java.net.ServerSocket}. One platform thread waits in its accept, one connection ahead of
 * the application. The others wait in the kernel, so its backlog means what it always does.
 */
public final class TcpListener implements Listener {
    private static final Log LOG = new Log(TcpListener.class);

    /** Longest wait for the port to be free. */
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long to pause after a failure for lack of memory or the like. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final ServerSocket server;
    private final InetAddress host;
    private final int backlog;
    private final AcceptQueue<Connection> accepted;
    /** Holds the port until the server socket has it; the JDK's server sockets listen when they bind. */
    private final Socket holder = new Socket(Proxy.NO_PROXY);
    /** Room in the queue for this listener. */
    private final Semaphore room = new Semaphore(1);
    private final Runnable taken = room::release;
    /** Uses the server socket; null until this listens. */
    private volatile Thread acceptor;
    private boolean reported;

    private TcpListener(ServerSocket server, InetAddress host, int backlog, AcceptQueue<Connection> accepted) {
        this.server = server;
        this.host = host;
        this.backlog = backlog;
        this.accepted = accepted;
    }

    /**
     * Takes an address, which may be the wildcard, and port, 0 for a free one, and does not listen yet; a backlog below
     * 1 means 50. Throws {@code BindException} if the port is taken or the address is not this host's.
     */
    public static TcpListener open(InetSocketAddress local, int backlog, PendingOptions wishes,
            AcceptQueue<Connection> accepted) throws IOException {
        ServerSocket server = new ServerSocket();
        TcpListener listener = new TcpListener(server, local.getAddress(), backlog, accepted);
        try {
            wishes.applyTo(server.supportedOptions(), server::setOption);
            wishes.applyTo(Set.of(StandardSocketOptions.SO_REUSEPORT), listener.holder::setOption);
            listener.holder.setReuseAddress(server.getReuseAddress());
            listener.holder.bind(local);
            return listener;
        } catch (Throwable e) {
            listener.close();
            throw e;
        }
    }

    @Override
    public void start() throws IOException {
        boolean listening = false;
        accepted.join();
        try {
            boolean reuse = server.getReuseAddress();
            holder.setReuseAddress(true); // two sockets may have one port while none of them listens
            server.setReuseAddress(true);
            server.bind(localAddress(), backlog);
            server.setReuseAddress(reuse);
            holder.close();
            Thread thread = LibraryThreads.unstarted("rdma-tcp-accept", this::acceptAll);
            thread.start();
            acceptor = thread;
            listening = true;
        } catch (OutOfMemoryError e) {
            throw (SocketException) new SocketException("No thread can be started to accept over TCP; raise the limit "
                    + "of threads (ulimit -u, or the container's pids limit) or the heap (-Xmx)").initCause(e);
        } finally {
            if (!listening) {
                accepted.withdraw();
            }
        }
    }

    /** The thread, until the server socket is closed; goes on after any failure. */
    private void acceptAll() {
        while (!server.isClosed()) {
            try {
                acceptOne();
            } catch (Throwable e) { // connecting peers wait in the kernel meanwhile
                room.release();
                LockSupport.parkNanos(PAUSE_NANOS);
                report(e);
            }
        }
    }

    private void acceptOne() {
        room.acquireUninterruptibly();
        TcpConnection connection = null;
        boolean added = false;
        try {
            connection = new TcpConnection(server.accept());
            accepted.add(connection, taken);
            added = true;
        } catch (IOException e) {
            if (!server.isClosed()) {
                LOG.debug("[{}] {}", server.getLocalSocketAddress(), e.getMessage());
                accepted.addFailure(e, taken); // as many failures as accepts, so this does not spin
            }
        } finally {
            if (!added && connection != null) {
                connection.close(); // an Error: no thread has it, and its peer must not wait
            }
        }
    }

    /** Logs an error, once; to log may fail for the same reason. */
    private void report(Throwable error) {
        try {
            if (!reported) {
                LOG.error("[{}] a connection over TCP could not be accepted; accepting goes on",
                        server.getLocalSocketAddress(), error);
                reported = true;
            }
        } catch (Throwable again) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    @Override
    public String transport() {
        return TcpConnection.NAME;
    }

    @Override
    public InetSocketAddress localAddress() {
        return new InetSocketAddress(host, server.isBound() ? server.getLocalPort() : holder.getLocalPort());
    }

    @Override
    public <T> void setOption(SocketOption<T> name, T value) throws SocketException {
        try {
            if (server.supportedOptions().contains(name)) {
                server.setOption(name, value);
            }
        } catch (IOException e) {
            throw NetErrors.ofOption(e, server.isClosed());
        }
    }

    @Override
    public void close() {
        try {
            holder.close();
            server.close();
        } catch (IOException e) {
            LOG.debug("[{}] {}", server.getLocalSocketAddress(), e.getMessage());
        }
        room.release(); // the thread may be waiting for room that no accept makes any more
        if (acceptor != null) {
            LibraryThreads.awaitEnd(acceptor, CLOSE_NANOS); // until then the JDK leaves the descriptor open
        }
    }
}
