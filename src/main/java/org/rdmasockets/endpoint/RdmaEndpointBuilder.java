package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.AccessFlag;

/**
 * The settings of endpoints. Everything has a default; a setting that exceeds the device is refused when the device is
 * known. Not for use by two threads at a time; endpoints and servers that were made do not change with it.
 *
 * @since 0.1
 */
public final class RdmaEndpointBuilder {
    private final Settings settings;

    /** A builder with settings of its own. */
    RdmaEndpointBuilder(Settings settings, Sharing shared) {
        this.settings = settings;
        settings.shared = shared;
    }

    private static int atLeast(int least, int value, String what) {
        if (value < least) {
            throw new IllegalArgumentException(what + " has to be at least " + least + ", not " + value);
        }
        return value;
    }

    private static long positive(Duration time, String what) {
        if (time.isNegative() || time.isZero()) {
            throw new IllegalArgumentException(what + " has to be longer than nothing, not " + time);
        }
        return NanoTimes.nanos(time);
    }

    /**
     * Sets the device to use. Without this, the one that leads to the address, by the rules that sockets follow.
     *
     * @param name such as {@code rxe0}, or {@code sharedmemory}
     * @return this
     */
    public RdmaEndpointBuilder device(String name) {
        settings.device = name;
        return this;
    }

    /**
     * Sets the physical port to use; another is refused. Without this, the one that has the address.
     *
     * @param number from 1 on
     * @return this
     */
    public RdmaEndpointBuilder port(int number) {
        settings.port = atLeast(1, number, "the port");
        return this;
    }

    /**
     * Sets the entry of the device's GID table to connect from; needs {@link #device}. Without this, the one that the
     * routing table leads to.
     *
     * @param index from 0 on
     * @return this
     */
    public RdmaEndpointBuilder gidIndex(int index) {
        settings.gidIndex = atLeast(0, index, "the GID index");
        return this;
    }

    /**
     * How many requests the device has at once; more wait in order. 128 without this.
     *
     * @param requests at least 4
     * @return this
     */
    public RdmaEndpointBuilder sendQueue(int requests) {
        settings.sends = atLeast(4, requests, "the send queue");
        return this;
    }

    /**
     * How many receives a raw endpoint can have posted. 64 without this.
     *
     * @param receives at least 1
     * @return this
     */
    public RdmaEndpointBuilder receiveQueue(int receives) {
        settings.receives = atLeast(1, receives, "the receive queue");
        return this;
    }

    /**
     * How much room to keep in a completion queue; never less than both queues need, which is enough.
     *
     * @param entries at least 1
     * @return this
     */
    public RdmaEndpointBuilder completionQueue(int entries) {
        settings.completions = atLeast(1, entries, "the completion queue");
        return this;
    }

    /**
     * How many pieces of memory a request can name. 2 without this.
     *
     * @param most at least 2, for a header and what follows it
     * @return this
     */
    public RdmaEndpointBuilder elements(int most) {
        settings.elements = atLeast(2, most, "the number of elements");
        return this;
    }

    /**
     * How many bytes of a request the device shall take at once, without looking into memory later; a device grants
     * what it can. 64 without this.
     *
     * @param bytes at least 0
     * @return this
     */
    public RdmaEndpointBuilder inline(int bytes) {
        settings.inlineBytes = atLeast(0, bytes, "the inline size");
        return this;
    }

    /**
     * How many pieces of messages, shared leases and immediate data the peer can send before this application takes
     * any; and how long a piece is. 32 of 8,192 bytes without this.
     *
     * @param count at least 2
     * @param bytes of each, at least 256; the first 56 are a header
     * @return this
     */
    public RdmaEndpointBuilder receiveBuffers(int count, int bytes) {
        settings.dataMessages = atLeast(2, count, "the number of buffers");
        settings.bufferBytes = atLeast(256, bytes, "a buffer");
        return this;
    }

    /**
     * The longest message that this end takes. 64 MiB without this.
     *
     * @param bytes at least 1
     * @return this
     */
    public RdmaEndpointBuilder maxMessage(long bytes) {
        if (bytes < 1) {
            throw new IllegalArgumentException("the longest message has at least 1 byte, not " + bytes);
        }
        settings.maxMessageBytes = bytes;
        return this;
    }

    /**
     * Whether the application posts its own receives, and there is nothing else: no credits, no messages, no leases.
     * Both ends have to agree.
     *
     * @param only true for a raw endpoint
     * @return this
     */
    public RdmaEndpointBuilder raw(boolean only) {
        settings.raw = only;
        return this;
    }

    /**
     * Where local regions come from. {@link MemoryStrategy#POOLED} without this.
     *
     * @param strategy how
     * @return this
     */
    public RdmaEndpointBuilder memory(MemoryStrategy strategy) {
        settings.strategy = strategy;
        return this;
    }

    /**
     * Sets the access rights of local regions that are allocated without naming any. Without this,
     * {@link AccessFlag#LOCAL_WRITE}: no peer reaches them.
     *
     * @param access rights
     * @return this
     */
    public RdmaEndpointBuilder access(Set<AccessFlag> access) {
        settings.access = Set.copyOf(access);
        return this;
    }

    /**
     * How much memory the peer may have at a time by asking for it. 64 MiB without this.
     *
     * @param bytes at least 0, which refuses all
     * @return this
     */
    public RdmaEndpointBuilder remoteMemory(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("the peer's memory cannot be " + bytes + " bytes");
        }
        settings.remoteMemoryBytes = bytes;
        return this;
    }

    /**
     * Limits the rights of the peer on memory that it asks for. Without this, all that the device can.
     *
     * @param access remote rights
     * @return this
     */
    public RdmaEndpointBuilder maxRemoteAccess(Set<AccessFlag> access) {
        settings.remoteAccess = Set.copyOf(access);
        return this;
    }

    /**
     * The longest lease of this end's memory; longer ones are cut to that. An hour without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder longestLease(Duration time) {
        settings.longestLeaseNanos = positive(time, "the longest lease");
        return this;
    }

    /**
     * How long connecting may take. A minute without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder connectTimeout(Duration time) {
        settings.connectNanos = positive(time, "the time to connect");
        return this;
    }

    /**
     * How long a call that sends, reads or writes may wait. Without this, as long as the connection lives.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder operationTimeout(Duration time) {
        settings.operationNanos = positive(time, "the time of an operation");
        return this;
    }

    /**
     * How long the peer may take to answer about a lease, and how long this end may work on memory after the peer's
     * lease of it has ended. 5 seconds without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder answerTimeout(Duration time) {
        settings.answerNanos = positive(time, "the time of an answer");
        return this;
    }

    /**
     * How long the peer's device may leave requests unacknowledged before the connection counts as lost; after half of
     * that without any request, it is asked for a sign of life. 30 seconds without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder acknowledgeTimeout(Duration time) {
        settings.acknowledgeNanos = positive(time, "the time of an acknowledgement");
        return this;
    }

    /**
     * How long what was sent may take to arrive once the endpoint is closed: until then the connection and its memory
     * stay where a peer does not take in what was sent. 10 seconds without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaEndpointBuilder linger(Duration time) {
        settings.lingerNanos = positive(time, "the time to linger");
        return this;
    }

    /**
     * How many connections may wait to be accepted. 50 without this.
     *
     * @param connections at least 1
     * @return this
     */
    public RdmaEndpointBuilder backlog(int connections) {
        settings.backlog = atLeast(1, connections, "the backlog");
        return this;
    }

    /**
     * A secret that all nodes of a group know, see {@link RdmaNode#join}. Without it, a process that listens at the
     * address of a rank before its node does is taken for that node. It is not sent, and nothing is encrypted.
     *
     * @param secret at least 16 unguessable bytes; copied
     * @return this
     */
    public RdmaEndpointBuilder groupSecret(byte[] secret) {
        atLeast(16, secret.length, "the length of a group's secret in bytes");
        settings.groupSecret = secret.clone();
        return this;
    }

    /**
     * Parts the memory of a further connection from its parent's: keys of one open nothing in the other.
     *
     * @return this
     */
    public RdmaEndpointBuilder ownProtectionDomain() {
        settings.shared = null;
        return this;
    }

    /**
     * Lets all connections that are made by this builder from now on, and by servers of it, share the protection domain
     * of the first of them: regions that one has allocated can be used with the others.
     *
     * @return this
     */
    public RdmaEndpointBuilder sharedProtectionDomain() {
        settings.shared = new Sharing();
        return this;
    }

    /**
     * Connects.
     *
     * @param host name or address
     * @param port of the server
     * @return the endpoint
     * @throws IOException as {@link #connect(InetSocketAddress)}
     */
    public RdmaEndpoint connect(String host, int port) throws IOException {
        StackRoom.ensure(); // a look-up of the JDK that overflows can leave its lock held for good
        return connect(new InetSocketAddress(host, port));
    }

    /**
     * Connects.
     *
     * @param server where it listens
     * @return the endpoint
     * @throws IOException {@code ConnectException} if no server listens, {@code NoRouteToHostException} if no RDMA
     *         device leads there, {@code SocketTimeoutException} if it takes too long, {@code UnknownHostException} if
     *         the name is not known, {@link EndpointException} if this device or the peer cannot do what is wanted
     */
    public RdmaEndpoint connect(InetSocketAddress server) throws IOException {
        StackRoom.ensure();
        return RdmaEndpoint.over(settings.clone().connect(server));
    }

    /** Connects to a node before a time by {@code System.nanoTime}, or as soon as {@link #connectTimeout} says. */
    RdmaEndpoint connectUntil(InetSocketAddress server, byte[] pass, long deadlineNanos) throws IOException {
        Settings own = settings.clone();
        own.connectNanos = Math.min(own.connectNanos, Math.max(1, NanoTimes.remaining(deadlineNanos)));
        own.pass = pass;
        return RdmaEndpoint.over(own.connect(server));
    }

    /** Listens for so many nodes of a group. */
    RdmaEndpointServer listenFor(NodeEntrance entrance, InetSocketAddress local, int size) throws IOException {
        Settings own = settings.clone();
        own.entrance = entrance;
        own.backlog = Math.max(own.backlog, size);
        return own.listen(local);
    }

    /** The secret of the nodes of a group; null for none. */
    byte[] secret() {
        return settings.groupSecret;
    }

    /**
     * Listens on all addresses.
     *
     * @param port 0 for any that is free
     * @return the server
     * @throws IOException as {@link #listen(InetSocketAddress)}
     */
    public RdmaEndpointServer listen(int port) throws IOException {
        return listen(new InetSocketAddress(port));
    }

    /**
     * Listens.
     *
     * @param local address, may be the wildcard, and port, 0 for any that is free
     * @return the server
     * @throws IOException {@code BindException} if the port is taken or the address is no RDMA device's,
     *         {@code UnknownHostException} if the name is not known
     */
    public RdmaEndpointServer listen(InetSocketAddress local) throws IOException {
        StackRoom.ensure();
        return settings.clone().listen(local);
    }
}
