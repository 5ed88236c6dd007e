package org.rdmasockets.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens on TCP with an ordinary {@code java.net.ServerSocket}. One virtual thread waits in its accept, one connection
 * ahead of the application: the others wait in the kernel, whose backlog so means what it always does.
 */
public final class TcpListener implements Listener {
    private static final Logger LOG = LoggerFactory.getLogger(TcpListener.class);

    /** Longest wait for the port to be free; only where all carriers of virtual threads are busy it takes that long. */
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ServerSocket server;
    private final AcceptQueue<Connection> accepted;
    /** Has come to zero when nobody uses the socket any more. */
    private final CountDownLatch left = new CountDownLatch(1);
    /** Room in the queue for this listener. */
    private final Semaphore room = new Semaphore(1);

    private TcpListener(ServerSocket server, AcceptQueue<Connection> accepted) {
        this.server = server;
        this.accepted = accepted;
    }

    /**
     * Begins to listen.
     *
     * @param local address, may be the wildcard, and port; port 0 takes a free one
     * @param backlog most connections that wait to be accepted; below 1 means 50
     * @param wishes options that were set
     * @param accepted gets the connections
     * @return the listener
     * @throws IOException {@code BindException} if the port is taken or the address is not this host's
     */
    public static TcpListener open(InetSocketAddress local, int backlog, SocketWishes wishes,
            AcceptQueue<Connection> accepted) throws IOException {
        ServerSocket server = new ServerSocket();
        TcpListener listener = new TcpListener(server, accepted);
        boolean listening = false;
        accepted.join();
        try {
            wishes.applyTo(server.supportedOptions(), server::setOption);
            server.bind(local, backlog);
            listening = true;
        } finally {
            if (!listening) {
                accepted.withdraw();
                listener.left.countDown(); // the thread will never run
                listener.close();
            }
        }
        Thread.ofVirtual().name("rdma-tcp-accept").inheritInheritableThreadLocals(false).start(listener::serve);
        return listener;
    }

    /** The virtual thread, until the server socket is closed. */
    private void serve() {
        try {
            acceptAll();
        } finally {
            left.countDown();
        }
    }

    private void acceptAll() {
        while (!server.isClosed()) {
            room.acquireUninterruptibly();
            try {
                accepted.add(new TcpConnection(server.accept()), room::release);
            } catch (IOException e) {
                if (!server.isClosed()) {
                    LOG.debug("[{}] {}", server.getLocalSocketAddress(), e.getMessage());
                    accepted.addFailure(e, room::release); // as many failures as accepts, so this does not spin
                }
            }
        }
    }

    @Override
    public String transport() {
        return TcpConnection.NAME;
    }

    @Override
    public InetSocketAddress localAddress() {
        return (InetSocketAddress) server.getLocalSocketAddress();
    }

    /** TCP has sizes of its own, which are options of {@code java.net}. */
    @Override
    public void options(StreamOptions newOptions) {
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
            server.close();
        } catch (IOException e) {
            LOG.debug("[{}] {}", server.getLocalSocketAddress(), e.getMessage());
        }
        room.release(); // the thread may be waiting for room that nobody makes any more
        awaitFreePort();
    }

    /** The JDK leaves the descriptor open until a virtual thread that is in accept has left. */
    private void awaitFreePort() {
        try {
            Patience.await(nanos -> left.await(nanos, TimeUnit.NANOSECONDS) ? true : null,
                    System.nanoTime() + CLOSE_NANOS);
        } catch (InterruptedIOException e) {
            LOG.debug("[{}] interrupted while closing; it goes on in the background", server.getLocalSocketAddress());
        }
    }
}
