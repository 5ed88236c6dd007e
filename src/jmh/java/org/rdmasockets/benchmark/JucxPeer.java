package org.rdmasockets.benchmark;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.openucx.jucx.UcxCallback;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.ucp.UcpConnectionRequest;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpListener;
import org.openucx.jucx.ucp.UcpListenerParams;
import org.openucx.jucx.ucp.UcpParams;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;

/**
 * Streams of UCX through JUCX, which is JNI over a library in C; both sides spin, as it was made for. It has one
 * connection at a time. Its streams have no end: a client that closes is an error to the server, wherever that is.
 */
final class JucxPeer implements Peer {
    private static final UcxCallback NOTHING = new UcxCallback();
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final UcpContext context = new UcpContext(new UcpParams().requestStreamFeature());
    private final UcpWorker worker = context.newWorker(new UcpWorkerParams());

    @Override
    public Listener listen() {
        return new Ear(worker);
    }

    @Override
    public Link connect(String address) {
        InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(address));
        return new JucxLink(worker, new UcpEndpointParams().setPeerErrorHandlingMode().setSocketAddress(server),
                true);
    }

    @Override
    public void close() {
        // The process ends: closing the worker while the server's thread spins in it would crash that.
    }

    /** False if the other end of a connection has closed. */
    private static boolean progress(UcpWorker worker) {
        try {
            worker.progress();
        } catch (Exception e) {
            return false;
        }
        Thread.onSpinWait();
        return true;
    }

    private static void await(UcpWorker worker, UcpRequest request) throws IOException {
        long begin = System.nanoTime();
        while (!request.isCompleted()) {
            if (!progress(worker) || System.nanoTime() - begin > PATIENCE_NANOS) {
                throw new IOException("the other end closed, or UCX took too long");
            }
        }
    }

    /** A listener, whose thread is the only one in its worker once it accepts. */
    private static final class Ear implements Listener {
        private final UcpWorker worker;
        private final UcpListener listener;
        /** A client that waits to be accepted, or null. */
        private UcpConnectionRequest waiting;

        Ear(UcpWorker worker) {
            this.worker = worker;
            listener = new UcpListener(worker, new UcpListenerParams()
                    .setSockAddr(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .setConnectionHandler(request -> waiting = request));
        }

        @Override
        public String address() {
            return "" + listener.getAddress().getPort();
        }

        @Override
        public Link accept() throws IOException {
            while (waiting == null) {
                progress(worker);
            }
            UcpEndpointParams client = new UcpEndpointParams().setPeerErrorHandlingMode().setConnectionRequest(waiting);
            waiting = null;
            return new JucxLink(worker, client, false);
        }

        @Override
        public void close() {
            // The process ends.
        }
    }

    /** An endpoint with a buffer for each direction. */
    private static final class JucxLink implements Link {
        private final UcpWorker worker;
        private final UcpEndpoint endpoint;
        private final boolean client;
        private ByteBuffer input = ByteBuffer.allocateDirect(64);
        private ByteBuffer output = ByteBuffer.allocateDirect(64);

        JucxLink(UcpWorker worker, UcpEndpointParams peer, boolean client) {
            this.worker = worker;
            this.client = client;
            endpoint = worker.newEndpoint(peer);
        }

        @Override
        public void write(byte[] message) throws IOException {
            output = UnixPeer.atLeast(output, message.length);
            output.clear().put(message).flip();
            await(worker, endpoint.sendStreamNonBlocking(output, NOTHING));
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            input = UnixPeer.atLeast(input, length);
            UcpRequest request = endpoint.recvStreamNonBlocking(input.clear().limit(length), 0, NOTHING);
            while (!request.isCompleted()) {
                if (!progress(worker)) {
                    return -1;
                }
            }
            int count = (int) request.getRecvSize();
            input.position(0).get(into, offset, count);
            return count;
        }

        @Override
        public void close() throws IOException {
            try {
                // The client takes leave; to the server it is dead then.
                UcpRequest closed = client ? endpoint.closeNonBlockingFlush() : endpoint.closeNonBlockingForce();
                long begin = System.nanoTime();
                while (!closed.isCompleted() && System.nanoTime() - begin < PATIENCE_NANOS) {
                    progress(worker);
                }
            } catch (UcxException e) {
                throw new IOException(e);
            }
        }
    }
}
