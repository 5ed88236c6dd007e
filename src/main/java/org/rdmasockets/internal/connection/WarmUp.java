package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.spi.TransportProvider;

/**
 * One connection from this process to itself, before any peer can connect: it loads all classes. So no peer's timeout
 * pays for that, and no class is loaded first where a caller has little stack or a process no descriptor left.
 */
final class WarmUp implements Runnable {
    private static final Log LOG = new Log(WarmUp.class);
    /** Longest wait for a rehearsal; the classes that it has not loaded by then are loaded on the way. */
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** How often to look whether both ends are torn down. */
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** An address of the loopback interface that no program uses. */
    private static final byte[] HERE = {127, 82, 68, 77};

    private final TransportProvider provider;
    private final long deadlineNanos = System.nanoTime() + LIMIT_NANOS;

    private WarmUp(TransportProvider provider) {
        this.provider = provider;
    }

    /**
     * Begins to rehearse for threads that are about to listen, on a thread of its own; null if the provider cannot. A
     * failure does no harm.
     */
    static Thread begin(TransportProvider provider) {
        TransportProvider apart = provider.rehearsal().orElse(null);
        return apart == null ? null : begin(new WarmUp(apart));
    }

    /** Begins a rehearsal, which loads code, on a thread of its own; null if there is none. */
    static Thread begin(Runnable rehearsal) {
        try {
            Thread thread = LibraryThreads.unstarted("rdma-rehearsal", rehearsal);
            thread.start();
            return thread;
        } catch (OutOfMemoryError e) { // the system's limit of threads
            LOG.debug("no thread can be started for a rehearsal", e);
            return null;
        }
    }

    /** Waits for the end of a rehearsal, if there is one, but not too long. Call without locks. */
    static void await(Thread rehearsal) {
        try {
            if (rehearsal != null) {
                InterruptibleWait.await(nanos -> rehearsal.join(Duration.ofNanos(nanos)) ? true : null,
                        System.nanoTime() + LIMIT_NANOS);
            }
        } catch (InterruptedIOException e) {
            LOG.debug("interrupted; the rehearsal of a connection goes on in the background");
        }
    }

    @Override
    public void run() {
        WorkCompletionStatus.of(0); // its names are for connections that fail, perhaps for lack of what loading takes
        try (Engine engine = Engine.apart(provider)) {
            exchange(engine);
        } catch (Throwable t) {
            LOG.debug("the rehearsal of a connection over {} failed", provider.name(), t);
        }
    }

    private void exchange(Engine engine) throws IOException {
        StreamOptions options = StreamOptions.DEFAULT;
        InetSocketAddress here = new InetSocketAddress(InetAddress.getByAddress(HERE), 0);
        AcceptQueue<Connection> accepted = new AcceptQueue<>(connection -> connection.close(0));
        Listener listener = Binding.open(engine, false, here).listener(1, options, accepted);
        try {
            listener.start();
            Connection client = Binding.later(engine, false, new InetSocketAddress(0))
                    .connect(listener.localAddress(), deadlineNanos, options);
            try {
                echo(client, accepted.accept(deadlineNanos));
            } finally {
                client.close(0);
            }
        } finally {
            accepted.close();
            listener.close();
        }
        while (engine.connections() > 0 && System.nanoTime() - deadlineNanos < 0) {
            LockSupport.parkNanos(STEP_NANOS);
        }
    }

    /** A byte there and back; then the server closes, and the client reads the end. */
    private void echo(Connection client, Connection server) throws IOException {
        byte[] bytes = {1};
        client.write(bytes, 0, 1);
        boolean came = server.read(bytes, 0, 1, deadlineNanos) == 1;
        server.write(bytes, 0, 1);
        came &= client.read(bytes, 0, 1, deadlineNanos) == 1;
        waitInVain(client);
        server.close();
        if (!came || client.read(bytes, 0, 1, deadlineNanos) >= 0) {
            throw new SocketTimeoutException("Read timed out");
        }
    }

    /** Waits once, with all the code of a wait: the bytes above may have come without one. */
    private static void waitInVain(Connection end) throws IOException {
        try {
            end.read(new byte[1], 0, 1, System.nanoTime() + STEP_NANOS);
        } catch (SocketTimeoutException e) {
            return; // as it should be: the peer has not written
        }
    }
}
