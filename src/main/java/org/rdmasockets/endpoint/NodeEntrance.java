package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;

/**
 * Accepts nodes of higher rank, and identifies this node to lower ones. Over the {@link TcpExchange}, each node has
 * told each lower one the hash of a random pass that is meant for that one alone. It connects with its rank and the
 * pass itself, in the private data of the connection manager. A peer that does not have the pass, or comes after the
 * node, is refused before anything is made for it. Any thread. Nothing is closed under the monitor: a close waits for
 * the poller, which may wait for the monitor to check a peer.
 */
final class NodeEntrance implements TcpExchange.Words, AutoCloseable {
    /** A rank and a token. */
    static final int PASS_BYTES = 20;

    private static final int TOKEN_BYTES = PASS_BYTES - Integer.BYTES;
    private static final int HASH_BYTES = 32;

    private final RdmaEndpointServer server;
    private final int rank;
    /** The passes of this node, one for each lower node. */
    private final byte[][] passes;
    /** Hashes of the passes of higher nodes that were heard, by rank; guarded by this. */
    private final byte[][] hashes;
    /** Nodes that have connected and are not taken, by rank; guarded by this. */
    private final RdmaEndpoint[] arrived;
    /** Made beforehand: a thread that checks a peer must not wait. Guarded by this. */
    private final MessageDigest digest;

    /** Opens it for a rank among so many nodes. Throws as {@link RdmaEndpointBuilder#listen}. */
    NodeEntrance(RdmaEndpointBuilder builder, InetAddress address, int rank, int size) throws IOException {
        this.rank = rank;
        hashes = new byte[size][];
        arrived = new RdmaEndpoint[size];
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (GeneralSecurityException e) {
            throw new IOException("this JVM has no SHA-256", e);
        }
        passes = new byte[Math.max(0, Math.min(rank, size))][];
        SecureRandom random = new SecureRandom();
        for (int lower = 0; lower < passes.length; lower++) {
            byte[] token = new byte[TOKEN_BYTES];
            random.nextBytes(token);
            passes[lower] = ByteBuffer.allocate(PASS_BYTES).putInt(rank).put(token).array();
        }
        server = builder.listenFor(this, new InetSocketAddress(address, 0), size);
    }

    /** The pass with which this node connects to a lower one. */
    byte[] pass(int lower) {
        return passes[lower];
    }

    /** The address where this node listens and, for a lower node, the hash of the pass. */
    @Override
    public byte[] to(int other) {
        InetSocketAddress local = server.localAddress();
        byte[] host = local.getAddress().getAddress();
        byte[] hash = other < passes.length ? hash(passes[other]) : new byte[HASH_BYTES];
        return ByteBuffer.allocate(HASH_BYTES + Short.BYTES + host.length).put(hash).putShort((short) local.getPort())
                .put(host).array();
    }

    @Override
    public synchronized void from(int other, byte[] told) {
        if (other > rank && told.length > HASH_BYTES) {
            hashes[other] = ByteBuffer.allocate(HASH_BYTES).put(told, 0, HASH_BYTES).array();
        }
    }

    /** The address where a node listens, as it told. */
    static InetSocketAddress address(byte[] told) throws IOException {
        if (told.length < HASH_BYTES + Short.BYTES) {
            throw new IOException("a node tells " + told.length + " bytes, which are no address");
        }
        ByteBuffer buffer = ByteBuffer.wrap(told, HASH_BYTES, told.length - HASH_BYTES);
        int port = Short.toUnsignedInt(buffer.getShort());
        byte[] host = new byte[buffer.remaining()];
        buffer.get(host);
        return new InetSocketAddress(InetAddress.getByAddress(host), port);
    }

    private synchronized byte[] hash(byte[] pass) {
        return digest.digest(pass);
    }

    /** Checks the greeting of a peer that wants to connect; throws if it is no node that is awaited. */
    synchronized void check(byte[] privateData) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(privateData);
        byte[] pass = new byte[PASS_BYTES];
        if (privateData.length >= Greeting.BYTES + PASS_BYTES) {
            buffer.get(Greeting.BYTES, pass);
        }
        int claimed = ByteBuffer.wrap(pass).getInt();
        byte[] known = claimed < 0 || claimed >= hashes.length ? null : hashes[claimed];
        if (known == null || !MessageDigest.isEqual(known, hash(pass))) {
            throw new IOException("a stranger, who says that he is node " + claimed);
        }
    }

    /** Waits for a node of higher rank, whose endpoint the caller gets, or throws {@code SocketTimeoutException}. */
    RdmaEndpoint await(int other, long deadlineNanos) throws IOException {
        while (!hasArrived(other)) {
            RdmaEndpoint caller = RdmaEndpoint.over(server.next(deadlineNanos));
            take(caller, caller.link.peer.node());
        }
        synchronized (this) {
            RdmaEndpoint node = arrived[other];
            arrived[other] = null;
            hashes[other] = null; // its pass is refused from now on
            return node;
        }
    }

    private synchronized boolean hasArrived(int other) {
        return arrived[other] != null;
    }

    /** A pass is good for one connection, and for another if that is over. */
    private void take(RdmaEndpoint caller, int claimed) {
        RdmaEndpoint unwanted = caller;
        synchronized (this) {
            RdmaEndpoint before = arrived[claimed];
            if (hashes[claimed] != null && (before == null || before.link.isOver())) {
                arrived[claimed] = caller;
                unwanted = before;
            }
        }
        if (unwanted != null) {
            unwanted.link.connection().abort();
        }
        if (unwanted != caller) {
            caller.link.accepted();
        }
    }

    /** Closes the connections of nodes that were not taken. */
    @Override
    public void close() {
        server.close();
        RdmaEndpoint[] left;
        synchronized (this) {
            left = arrived.clone();
        }
        for (RdmaEndpoint one : left) {
            if (one != null) {
                one.end();
            }
        }
    }
}
