package org.rdmasockets;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.Routes;
import org.rdmasockets.internal.connection.StreamOptions.Option;
import org.rdmasockets.internal.datagram.DatagramInbox;
import org.rdmasockets.internal.datagram.DatagramWays;
import org.rdmasockets.internal.datagram.DatagramWays.PortKind;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.socket.RdmaDatagramSocketImpl;

/**
 * A datagram socket whose datagrams go over the best transport that leads to their destination: memory shared with
 * another process of this host that has such a socket there, or UDP, to and from any program. Its port is taken on all
 * of them at once, and a receive takes whatever comes first. {@link RdmaSocketOptions#TRANSPORT} tells how the last
 * datagram came or went, and why; set to {@link Transport#SHARED_MEMORY}, {@link Transport#IBVERBS} or
 * {@link Transport#UDP}, it forces one for what is sent.
 *
 * <p>Over an RDMA device it speaks the datagrams of rsockets: where that is forced, and to peers that have sent such
 * datagrams to it, because other programs would take their header for data. A datagram is not longer than a packet
 * there.
 *
 * <p>It does everything that {@link DatagramSocket} can do. As there, datagrams can be lost: over shared memory where
 * the receiver has no room, {@code SO_RCVBUF}, or its process is behind. Over shared memory a datagram has up to 16,352
 * bytes, and longer ones go over UDP, unless that is forced. Multicast and broadcast go over UDP. The kernel is not
 * told of {@link #connect}: what others send is dropped here, and {@code PortUnreachableException} is thrown only by a
 * receive, once the process of this host ends to which the socket is connected and has sent over shared memory.
 *
 * <p>A socket that has received is open until it is closed.
 *
 * @since 0.1
 */
public class RdmaDatagramSocket extends DatagramSocket {
    private static final int MOST_BYTES = 65_535;
    /** Longest wait for the port to be free. */
    private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Datagrams that fail to be read, one after the other, before none is read any more. */
    private static final int MOST_FAILURES = 1000;

    /** The UDP port. */
    private final DatagramSocket udp;
    private final Object lock = new Object();
    private final DatagramInbox inbox;
    /**
     * The room of packets that a datagram has left some of: {@code setLength} makes their length less, and the next
     * receive takes as much as before all the same. Guarded by itself.
     */
    private final Map<DatagramPacket, Room> rooms = new WeakHashMap<>(1);
    /** Null until this is bound; written under lock, as are the next five. */
    private volatile DatagramWays ways;
    private volatile InetSocketAddress peer;
    private volatile int timeoutMillis;
    private volatile Transport wish;
    private volatile boolean waits = true;
    private volatile String sentOver = Transport.UDP.name();
    private volatile Thread reader;
    /** How the last datagram came or went. */
    private volatile Transport last = Transport.AUTO;

    /** Sends over UDP for this socket. */
    private final class Udp implements DatagramWays.Udp {
        @Override
        public void send(byte[] data, InetSocketAddress destination) throws IOException {
            udp.send(new DatagramPacket(data, data.length, destination));
        }

        @Override
        public void startReading() {
            if (reader == null) {
                RdmaDatagramSocket.this.startReading();
            }
        }
    }

    /** The length that was set for what came, and the room before that. */
    private record Room(byte[] data, int offset, int length, int room) {}

    /**
     * Makes a socket on a free port of the wildcard address.
     *
     * @throws SocketException if no port can be had
     */
    public RdmaDatagramSocket() throws SocketException {
        this(new InetSocketAddress(0));
    }

    /**
     * Makes a socket on a port of the wildcard address.
     *
     * @param port 0 to 65535; 0 takes a free one
     * @throws SocketException if the port cannot be had
     */
    public RdmaDatagramSocket(int port) throws SocketException {
        this(new InetSocketAddress(port));
    }

    /**
     * Makes a socket on a port of an address.
     *
     * @param port 0 to 65535; 0 takes a free one
     * @param address an address of this machine, or null for any
     * @throws SocketException if the port cannot be had
     */
    public RdmaDatagramSocket(int port, InetAddress address) throws SocketException {
        this(new InetSocketAddress(address, port));
    }

    /**
     * Makes a socket.
     *
     * @param address where to bind it, or null for not yet
     * @throws SocketException if that cannot be had
     */
    @SuppressWarnings("this-escape") // bind is this class's own, and a subclass that overrides it wants to be asked
    public RdmaDatagramSocket(SocketAddress address) throws SocketException {
        this(new RdmaDatagramSocketImpl(RdmaDatagramSocketImplFactory.openUdp()));
        if (address != null) {
            boolean made = false;
            try {
                bind(address);
                made = true;
            } finally {
                if (!made) {
                    LibraryThreads.close(this);
                }
            }
        }
    }

    /** The superclass locks too much, so calls that wait go to the socket under it. */
    private RdmaDatagramSocket(RdmaDatagramSocketImpl under) throws SocketException {
        super(under);
        udp = under.socket();
        inbox = new DatagramInbox(roomBytes(udp));
    }

    /** Twice its buffer, as in the kernel: half of that is for what datagrams take besides their data. */
    private static int roomBytes(DatagramSocket udp) throws SocketException {
        return (int) Math.min(2L * udp.getReceiveBufferSize(), Integer.MAX_VALUE);
    }

    @Override
    public void bind(SocketAddress address) throws SocketException {
        StackRoom.ensure();
        synchronized (lock) {
            if (isBound() && !isClosed()) {
                throw new SocketException("Already bound"); // UDP says so too, once the thread that reads it lets it
            }
            boolean shared = !isClosed() && (udp.getReuseAddress() || isPortShared());
            udp.bind(address); // here, for the superclass closes what it cannot bind
            super.bind(udp.getLocalSocketAddress());
            boolean any = !(address instanceof InetSocketAddress wanted) || wanted.getPort() == 0;
            ways = new DatagramWays(new InetSocketAddress(super.getLocalAddress(), super.getLocalPort()),
                    shared ? PortKind.SHARED : any ? PortKind.ANY : PortKind.CHOSEN, inbox, new Udp());
        }
    }

    private boolean isPortShared() throws SocketException {
        try {
            return udp.supportedOptions().contains(StandardSocketOptions.SO_REUSEPORT)
                    && udp.getOption(StandardSocketOptions.SO_REUSEPORT);
        } catch (IOException e) {
            throw (SocketException) new SocketException(e.getMessage()).initCause(e);
        }
    }

    /** Also ensures room for what follows: an overflow inside the JDK's socket can leave its locks held for good. */
    private DatagramWays bound() throws SocketException {
        StackRoom.ensure();
        ensureOpen();
        DatagramWays open = ways;
        if (open == null) {
            synchronized (lock) {
                if (ways == null) {
                    bind(new InetSocketAddress(0));
                }
                open = ways;
            }
        }
        return open;
    }

    private void ensureOpen() throws SocketException {
        if (isClosed()) {
            throw NetErrors.closed();
        }
    }

    @Override
    public void connect(InetAddress address, int port) {
        if (address == null) {
            throw new IllegalArgumentException("Address can't be null");
        }
        try {
            connect(new InetSocketAddress(address, port));
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void connect(SocketAddress address) throws SocketException {
        if (address == null) {
            throw new IllegalArgumentException("Address can't be null");
        }
        if (!(address instanceof InetSocketAddress to)) {
            throw new IllegalArgumentException("Unsupported address type");
        }
        if (to.isUnresolved()) {
            throw new SocketException("Unresolved address");
        }
        synchronized (lock) {
            if (isClosed()) {
                return; // as java.net does
            }
            if (to.getPort() == 0) {
                throw new SocketException("Can't connect to port 0");
            }
            bound();
            Routes.ensureFamily(to.getAddress());
            peer = to;
            inbox.only(to);
        }
    }

    @Override
    public void disconnect() {
        synchronized (lock) {
            if (!isClosed()) {
                peer = null;
                inbox.only(null);
            }
        }
    }

    @Override
    public boolean isConnected() {
        return peer != null;
    }

    @Override
    public InetAddress getInetAddress() {
        InetSocketAddress connected = peer;
        return connected == null ? null : connected.getAddress();
    }

    @Override
    public int getPort() {
        InetSocketAddress connected = peer;
        return connected == null ? -1 : connected.getPort();
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return peer;
    }

    @Override
    public InetAddress getLocalAddress() {
        InetAddress own = udp.getLocalAddress();
        InetSocketAddress connected = peer;
        if (connected == null || own == null || !own.isAnyLocalAddress()) {
            return own;
        }
        try {
            return Routes.sourceOf(connected);
        } catch (IOException e) {
            return own;
        }
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return isClosed() || !isBound() ? null : new InetSocketAddress(getLocalAddress(), getLocalPort());
    }

    /**
     * Sends a datagram over the transport that leads to its destination. Over shared memory, where a receiver has no
     * room, it waits for a receiver that keeps reading, for a short time at most; then the datagram may be lost.
     *
     * @param packet the data to send, and the destination unless this is connected
     * @throws IOException if this is closed, or the datagram is too long, or the transport that is forced does not lead
     *         there; the message says what to do
     */
    @Override
    public void send(DatagramPacket packet) throws IOException {
        synchronized (packet) {
            DatagramWays through = bound();
            InetSocketAddress destination = destination(packet);
            if (destination.isUnresolved() || destination.getPort() == 0) {
                super.send(packet); // throws, and says what is wrong with the destination
                return;
            }
            MemorySegment data = MemorySegment.ofArray(packet.getData()).asSlice(packet.getOffset(),
                    packet.getLength());
            DatagramWays.Sent sent = send(through, destination, data);
            if (!sent.isDone()) {
                udp.send(packet);
            }
            tell(sent.transport(), sent.reason());
            sentOver = sent.transport();
        }
    }

    /** An interrupt changes nothing, as with UDP: what waits here waits for a short time. */
    private DatagramWays.Sent send(DatagramWays through, InetSocketAddress destination, MemorySegment data)
            throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return through.send(wishName(), destination, data, waits);
                } catch (InterruptedIOException e) {
                    interrupted |= Thread.interrupted(); // nothing was sent
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Names this socket's queue pair to a peer that is known to have such a socket, too. If the settings leave the
     * choice, {@code auto}, and both have an RDMA device that leads to the other, datagrams in both directions go over
     * it from the peer's answer on. Otherwise nothing happens, except that the peer may receive a datagram of 16 bytes,
     * over IPv6 28. Returns at once.
     *
     * @param peer address and port
     * @throws IOException if this is closed, or the settings are wrong
     */
    public void offerQueuePair(InetSocketAddress peer) throws IOException {
        if (peer.isUnresolved() || peer.getPort() == 0) {
            throw new IllegalArgumentException("an address and a port are wanted, not " + peer);
        }
        bound().offerQueuePair(wishName(), peer);
    }

    private String wishName() {
        Transport wanted = wish;
        return wanted == null ? null : wanted.name();
    }

    private InetSocketAddress destination(DatagramPacket packet) {
        InetSocketAddress connected = peer;
        if (connected == null) {
            if (packet.getAddress() == null) {
                throw new IllegalArgumentException("Address not set");
            }
            return (InetSocketAddress) packet.getSocketAddress();
        }
        if (packet.getAddress() == null) {
            packet.setSocketAddress(connected);
        } else if (!connected.equals(packet.getSocketAddress())) {
            throw new IllegalArgumentException("Connected and packet address differ");
        }
        return connected;
    }

    private void tell(String transport, String reason) {
        Transport before = last;
        if (!before.name().equals(transport) || !before.reason().equals(reason)) {
            last = new Transport(transport, reason);
        }
    }

    /**
     * Receives a datagram, from whichever transport has one. A packet that is received into again has as much room as
     * before, if this socket was the last that has received into it; for another one set its length anew.
     *
     * @param packet gets data, as much as there is room for, and address of the sender
     * @throws SocketTimeoutException when {@code SO_TIMEOUT} is over
     * @throws PortUnreachableException if this is connected to a process of this host that has ended since it was sent
     *         to over shared memory, and all that it had sent was received; once
     * @throws IOException if this is closed, also meanwhile; or if an interrupt of this virtual thread closes it
     */
    @Override
    public void receive(DatagramPacket packet) throws IOException {
        synchronized (packet) {
            bound();
            startReading();
            int timeout = timeoutMillis;
            DatagramInbox.Arrived arrived;
            try {
                arrived = inbox.receive(timeout == 0 ? Long.MAX_VALUE
                        : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout));
            } catch (InterruptedIOException e) {
                throw closedByInterrupt(e);
            }
            if (arrived == null) {
                ensureOpen();
                throw new SocketTimeoutException("Receive timed out");
            }
            fill(packet, arrived);
            tell(arrived.transport(), "the last datagram came so");
        }
    }

    private void fill(DatagramPacket packet, DatagramInbox.Arrived arrived) {
        byte[] to = packet.getData();
        int offset = packet.getOffset();
        int room = packet.getLength();
        int length;
        synchronized (rooms) {
            Room before = rooms.get(packet);
            if (before != null && before.data() == to && before.offset() == offset && before.length() == room) {
                room = before.room();
            }
            length = Math.min(room, arrived.data().length);
            if (length < room) {
                rooms.put(packet, new Room(to, offset, length, room));
            } else if (before != null) {
                rooms.remove(packet);
            }
        }
        System.arraycopy(arrived.data(), 0, to, offset, length);
        packet.setLength(length);
        packet.setSocketAddress(arrived.source());
    }

    private SocketException closedByInterrupt(InterruptedIOException cause) {
        close();
        return (SocketException) new SocketException("Closed by interrupt").initCause(cause);
    }

    /**
     * Starts the thread that reads from UDP, unless it runs already: at the first receive, or when {@code ways} asks.
     */
    private void startReading() {
        synchronized (lock) {
            if (reader == null && !isClosed()) {
                reader = LibraryThreads.start("rdma-udp-" + getLocalPort(),
                        LibraryThreads.insisting(this::readUdp, this::readingFailed));
            }
        }
    }

    private void readingFailed(Throwable cause) {
        inbox.fail(new IOException("reading datagrams has failed: " + cause, cause));
    }

    /** An exception or {@code Error} costs a datagram: only many in a row end this, and lack of memory never does. */
    private void readUdp() {
        DatagramPacket packet = null;
        int failures = 0;
        while (!isClosed()) {
            try {
                packet = packet == null ? new DatagramPacket(new byte[MOST_BYTES], MOST_BYTES) : packet;
                readUdp(packet);
                failures = 0;
            } catch (IOException e) {
                if (!isClosed()) {
                    inbox.fail(e);
                }
                return;
            } catch (RuntimeException | Error e) {
                failures++;
                if (failures == MOST_FAILURES) {
                    throw e;
                }
                LibraryThreads.pause();
            }
        }
    }

    private void readUdp(DatagramPacket packet) throws IOException {
        packet.setLength(MOST_BYTES);
        udp.receive(packet);
        byte[] data = new byte[packet.getLength()];
        System.arraycopy(packet.getData(), 0, data, 0, data.length);
        ways.arrivedByUdp(wishName(), (InetSocketAddress) packet.getSocketAddress(), data);
    }

    @Override
    public void setSoTimeout(int timeout) throws SocketException {
        getSoTimeout(); // throws if this is closed
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout < 0");
        }
        timeoutMillis = timeout;
    }

    @Override
    public int getSoTimeout() throws SocketException {
        if (isClosed()) {
            throw new SocketException("Socket is closed");
        }
        return timeoutMillis;
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        StackRoom.ensure();
        super.setReceiveBufferSize(size);
        inbox.mostBytes(roomBytes(udp));
    }

    @Override
    public <T> DatagramSocket setOption(SocketOption<T> name, T value) throws IOException {
        StackRoom.ensure();
        if (name.equals(RdmaSocketOptions.TRANSPORT)) {
            ensureOpen();
            Transport wanted = (Transport) Objects.requireNonNull(value);
            if (wanted.is(Transport.TCP)) {
                throw new IllegalArgumentException("tcp carries no datagrams: one of auto, sharedmemory, ibverbs, udp "
                        + "is wanted");
            }
            wish = wanted;
            last = wanted;
            return this;
        }
        if (name.equals(RdmaSocketOptions.SPIN_MICROS)) {
            ensureOpen();
            inbox.spinMicros(Option.SPIN_MICROS.checked(RdmaSocketOptions.SPIN_MICROS, (Integer) value));
            return this;
        }
        if (name == DatagramWays.NEVER_WAITS) {
            waits = !(Boolean) value;
            return this;
        }
        udp.setOption(name, value);
        if (name.equals(StandardSocketOptions.SO_RCVBUF)) {
            inbox.mostBytes(roomBytes(udp));
        }
        return this;
    }

    @Override
    @SuppressWarnings("unchecked") // the option's type is the value's
    public <T> T getOption(SocketOption<T> name) throws IOException {
        if (name.equals(RdmaSocketOptions.TRANSPORT)) {
            ensureOpen();
            return (T) last;
        }
        if (name.equals(RdmaSocketOptions.SPIN_MICROS)) {
            ensureOpen();
            return (T) (Integer) inbox.spinMicros();
        }
        if (name == DatagramWays.SENT_OVER) {
            return (T) sentOver;
        }
        return udp.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        Set<SocketOption<?>> all = new HashSet<>(super.supportedOptions());
        all.add(RdmaSocketOptions.TRANSPORT);
        all.add(RdmaSocketOptions.SPIN_MICROS);
        return Set.copyOf(all);
    }

    @Override
    public void joinGroup(SocketAddress group, NetworkInterface through) throws IOException {
        udp.joinGroup(group, through);
    }

    @Override
    public void leaveGroup(SocketAddress group, NetworkInterface through) throws IOException {
        udp.leaveGroup(group, through);
    }

    @Override
    public void close() {
        StackRoom.ensure();
        synchronized (lock) {
            if (ways != null) {
                ways.close(); // first: the next owner of the UDP port wants these ports, too
            }
            super.close();
            inbox.close();
        }
        if (reader != null && reader != Thread.currentThread()) {
            LibraryThreads.awaitEnd(reader, CLOSE_NANOS); // the kernel frees the port when it has left, a moment later
        }
    }
}
