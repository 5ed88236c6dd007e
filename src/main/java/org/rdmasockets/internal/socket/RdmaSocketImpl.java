package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ref.Reference;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.PendingOptions;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.internal.connection.StreamOptions.Option;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.selection.Acceptor;
import org.rdmasockets.internal.selection.Connector;

/**
 * The implementation under {@code java.net.Socket} and {@code java.net.ServerSocket}, over any transport: the life of
 * one socket, its options, and one reader and one writer at a time.
 *
 * <p>Any method may be called by any thread, virtual or platform. {@code close} never waits for the others (unless
 * SO_LINGER says so): it takes the connection away, which ends their waits with "Socket closed". A virtual thread that
 * is interrupted while it waits gets an {@code InterruptedIOException} with its status set, which makes the callers in
 * {@code java.net} close the socket; an interrupt of a platform thread does nothing.
 *
 * <p>Its monitor is the state lock, which is held for a few lines, never while waiting. Each method first asks for
 * {@link StackRoom}: a caller at the end of its stack learns it here, with nothing changed.
 */
public final class RdmaSocketImpl extends SocketImpl {
    /** The life of a socket. */
    private enum State { NEW, UNCONNECTED, CONNECTING, CONNECTED, LISTENING, CLOSED }

    private final boolean server;
    /** Held by the one reader and the one writer, also while they wait. */
    private final CallerLock readTurn = new CallerLock();
    private final CallerLock writeTurn = new CallerLock();
    /** Changed under the state lock. */
    private volatile State state = State.NEW;
    /** The connection while state is CONNECTED, else null; changed under the state lock. */
    private volatile Connection connection;
    /** The acceptor while state is LISTENING, else null; changed under the state lock. */
    private volatile Acceptor serverEnd;
    /** The bound connector, from bind until there is a connection, else null; protected by the state lock. */
    private Connector clientEnd;
    /**
     * The resource that close releases, or the cleaner if the application forgets to close. Null until there is one;
     * protected by the state lock.
     */
    private HeldResource held;
    /** The local address for SO_BINDADDR, null while unbound; protected by the state lock. */
    private InetAddress localAddress;
    /** Never changed, but replaced: other sockets may have the same. Protected by the state lock. */
    private OptionValues options;
    /** SO_TIMEOUT in milliseconds, 0 for none. */
    private volatile int timeoutMillis;
    /** Reads give the end of the stream from now on. */
    private volatile boolean inputShutdown;
    /** The end of the stream was read; as in the JDK, later reads give it again, even after close. */
    private volatile boolean ended;
    /** Reads and writes by other means than arrays; null until it is needed, changed under the state lock. */
    volatile BufferTransfers transfers;

    /** Makes a socket that holds nothing yet, and asks for a proxy where java.net does. */
    public RdmaSocketImpl(boolean server) {
        this(server, false);
    }

    /** Makes a socket that holds nothing yet; {@code direct} if it asks for no proxy. */
    public RdmaSocketImpl(boolean server, boolean direct) {
        this.server = server;
        options = OptionValues.initial(server, direct);
    }

    @Override
    protected void create(boolean stream) throws IOException {
        if (!stream) {
            throw new SocketException("RDMA sockets are streams: datagrams are not supported");
        }
        synchronized (this) {
            if (state != State.NEW) {
                throw new SocketException("Already created");
            }
            state = State.UNCONNECTED;
        }
        TransportsBean.registerIfAsked();
    }

    /** "Socket closed" for every operation after close. */
    private void ensureOpen() throws SocketException {
        if (state == State.CLOSED) {
            throw NetErrors.closed();
        }
    }

    /** The connection; throws an exception that says why there is none. */
    Connection connection() throws SocketException {
        Connection connected = connection;
        if (connected == null) {
            throw NetErrors.noConnection(state == State.CLOSED);
        }
        return connected;
    }

    /** Holds something that close releases, or the cleaner if the application forgets to close; state lock held. */
    private void hold(AutoCloseable resource) {
        if (held == null) {
            held = new HeldResource(this);
        }
        held.hold(resource);
    }

    // Binding and connecting.

    /** A client takes the address now. A server's is taken by listen, which follows at once and knows the backlog. */
    @Override
    protected void bind(InetAddress host, int port) throws IOException {
        StackRoom.ensure();
        String wish;
        PendingOptions wishes;
        synchronized (this) {
            ensureOpen();
            if (localport != 0 || state == State.CONNECTING) {
                throw new SocketException("Already bound");
            }
            if (server) {
                becomeBound(new InetSocketAddress(host, port));
                return;
            }
            wish = options.wantedTransport();
            wishes = options.wishes();
        }
        try {
            adoptClientEnd(Connector.open(wish, new InetSocketAddress(host, port), wishes));
        } catch (IOException | RuntimeException e) {
            throw NetErrors.asSocketException(e);
        }
    }

    /** Has a local address from now on; state lock held. */
    private void becomeBound(InetSocketAddress local) {
        localport = local.getPort();
        localAddress = local.getAddress();
        address = localAddress; // where a server socket looks; connect overwrites it
    }

    private void adoptClientEnd(Connector bound) throws SocketException {
        synchronized (this) {
            if (state == State.UNCONNECTED && localport == 0) {
                clientEnd = bound;
                hold(bound);
                becomeBound(bound.localAddress());
                return;
            }
        }
        bound.close();
        ensureOpen();
        throw new SocketException("Already bound");
    }

    @Override
    protected void connect(String host, int port) throws IOException {
        connect(new InetSocketAddress(host, port), 0);
    }

    @Override
    protected void connect(InetAddress remote, int port) throws IOException {
        connect(new InetSocketAddress(remote, port), 0);
    }

    @Override
    protected void connect(SocketAddress remote, int millis) throws IOException {
        StackRoom.ensure();
        if (!(remote instanceof InetSocketAddress target)) {
            throw new IllegalArgumentException("Unsupported address type");
        }
        try {
            implConnect(target, millis);
        } catch (IOException | RuntimeException e) {
            close();
            if (NetErrors.isInterruptOfVirtualThread(e)) {
                throw new SocketException("Closed by interrupt");
            }
            throw NetErrors.asSocketException(e);
        }
    }

    /** As in the JDK, a second thread that connects waits, and finds the socket connected or closed. */
    private void implConnect(InetSocketAddress target, int millis) throws IOException {
        beginWrite();
        try {
            connectAlone(destination(target, boundAddress()), millis);
        } finally {
            endWrite();
        }
    }

    /**
     * The address to connect to. The wildcard address stands for this host. It becomes the address that the socket is
     * bound to, if any: a device with that address may not lead to another one. An unresolved name stays, for a proxy.
     */
    private static InetSocketAddress destination(InetSocketAddress target, InetAddress own)
            throws UnknownHostException {
        if (target.isUnresolved() || !target.getAddress().isAnyLocalAddress()) {
            return target;
        }
        boolean known = own != null && !own.isAnyLocalAddress();
        return new InetSocketAddress(known ? own : InetAddress.getLocalHost(), target.getPort());
    }

    /** Waits until connected; the caller has the turn to write. */
    private void connectAlone(InetSocketAddress target, int millis) throws IOException {
        Connector end;
        PendingOptions wishes;
        synchronized (this) {
            ensureOpen();
            if (state == State.CONNECTED) {
                throw new SocketException("Already connected");
            }
            state = State.CONNECTING;
            address = target.getAddress();
            port = target.getPort();
            wishes = options.wishes();
            end = clientEnd != null ? clientEnd : Connector.unbound(options.wantedTransport());
            hold(end);
        }
        if (millis == 0) { // as in the JDK: only a connect with a timeout may succeed though interrupted
            InterruptibleWait.ensureNotInterrupted();
        }
        Connection made = end.connect(target, millis, wishes);
        synchronized (this) {
            if (state == State.CONNECTING) {
                adoptConnection(made, end.reason());
                return;
            }
        }
        made.close();
        throw NetErrors.closed();
    }

    /** Becomes connected; state lock held. */
    private void adoptConnection(Connection made, String reason) {
        connection = made;
        clientEnd = null;
        hold(connection);
        localport = connection.localAddress().getPort();
        localAddress = connection.localAddress().getAddress();
        InetAddress remote = connection.remoteAddress().getAddress();
        if (address != remote && address != null && remote.toString().equals(address.toString())) {
            address = remote; // the same name and address: one object for both. A proxy's destination may be a name
        }
        options = options.connected(connection.transport(), reason, connection.streamKind());
        state = State.CONNECTED;
    }

    // Listening and accepting.

    @Override
    protected void listen(int backlog) throws IOException {
        StackRoom.ensure();
        String wish;
        InetSocketAddress local;
        PendingOptions wishes;
        synchronized (this) {
            ensureOpen();
            if (localAddress == null) {
                throw new SocketException("Not bound");
            }
            wish = options.wantedTransport();
            local = new InetSocketAddress(localAddress, localport);
            wishes = options.wishes();
        }
        try {
            adoptServerEnd(Acceptor.open(wish, local, backlog, wishes));
        } catch (IOException | RuntimeException e) {
            unbind();
            throw NetErrors.asSocketException(e);
        }
    }

    private void adoptServerEnd(Acceptor listening) throws SocketException {
        synchronized (this) {
            if (state != State.CLOSED) {
                serverEnd = listening;
                hold(listening);
                localport = listening.localAddress().getPort();
                OptionValues changed = options.copy();
                changed.transport = new Transport(listening.transport(), listening.reason());
                options = changed.shared();
                state = State.LISTENING;
                return;
            }
        }
        listening.close();
        throw NetErrors.closed();
    }

    /** After a failed listen: the socket may bind to another address. */
    private synchronized void unbind() {
        localport = 0;
        localAddress = null;
        address = null;
    }

    @Override
    protected void accept(SocketImpl to) throws IOException {
        StackRoom.ensure();
        if (!(to instanceof RdmaSocketImpl accepted)) {
            throw new SocketException("An instance of " + getClass()
                    + " cannot accept a connection with an instance of " + to.getClass());
        }
        Acceptor listening = serverEnd;
        if (listening == null) {
            ensureOpen();
            throw new SocketException("Not listening");
        }
        Connection made = listening.accept(deadline(timeoutMillis));
        try {
            OptionValues inherited;
            synchronized (this) {
                inherited = options;
            }
            if (accepted.becomeAccepted(made, inherited)) {
                return;
            }
            made.close();
        } catch (Throwable e) {
            made.close(0); // an Error: no socket has it, and its peer must not wait
            throw e;
        }
        accepted.ensureOpen();
        throw new SocketException("Already connected");
    }

    /**
     * The other side of accept: this socket gets the connection, instead of the connector that it had, if any. False if
     * it has been closed or connected meanwhile.
     */
    private boolean becomeAccepted(Connection made, OptionValues inherited) throws SocketException {
        Connector unused;
        synchronized (this) {
            if (state != State.NEW && state != State.UNCONNECTED) {
                return false;
            }
            unused = clientEnd;
            options = inherited.passedOn(options);
            fd = null; // java.net has made one, with no descriptor behind it
            address = made.remoteAddress().getAddress();
            port = made.remoteAddress().getPort();
            adoptConnection(made, Acceptor.REASON);
            tell();
        }
        try {
            if (unused != null) {
                unused.close(); // without the lock: its port may take a moment to be free
            }
        } catch (RuntimeException | Error e) {
            return true; // its port stays taken, but this socket has its connection
        }
        return true;
    }

    // Reading and writing.

    /** The end of a wait that starts now, by {@code System.nanoTime}; {@code Long.MAX_VALUE} for none. */
    private static long deadline(int millis) {
        return millis <= 0 ? Long.MAX_VALUE : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /** The reads and writes by other means than arrays. */
    public BufferTransfers transfers(Socket socket) {
        if (transfers == null) {
            synchronized (this) {
                transfers = transfers == null ? new BufferTransfers(socket, this) : transfers;
            }
        }
        return transfers;
    }

    @Override
    protected InputStream getInputStream() {
        return new Input();
    }

    @Override
    protected OutputStream getOutputStream() {
        return new Output();
    }

    /** The stream under that of {@code java.net.Socket}, which adds closing by interrupt and JFR events. */
    private final class Input extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] b, int off, int len) throws IOException {
            BufferTransfers other = transfers;
            if (other != null && other.isReader()) {
                return other.readInTurn(b, off, len);
            }
            Objects.checkFromIndexSize(off, len, b.length);
            if (len == 0 || ended) {
                return len == 0 ? 0 : -1;
            }
            long deadlineNanos = beginRead();
            try {
                Connection connected = readable();
                int count = connected == null ? -1 : connected.read(b, off, len, deadlineNanos);
                if (count < 0) {
                    ended = true;
                }
                return count;
            } finally {
                endRead();
            }
        }

        @Override
        public int available() throws IOException {
            return RdmaSocketImpl.this.available();
        }

        @Override
        public void close() {
            RdmaSocketImpl.this.close();
        }
    }

    /** Likewise. */
    private final class Output extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] b, int off, int len) throws IOException {
            BufferTransfers other = transfers;
            if (other != null && other.isWriter()) {
                other.writeInTurn(b, off, len);
                return;
            }
            Objects.checkFromIndexSize(off, len, b.length);
            if (len > 0) {
                beginWrite();
                try {
                    connection().write(b, off, len);
                } finally {
                    endWrite();
                }
            }
        }

        @Override
        public void close() {
            RdmaSocketImpl.this.close();
        }
    }

    /** Takes the turn to read, until {@link #endRead}, and gives when waits end, by {@code System.nanoTime}. */
    long beginRead() throws IOException {
        int millis = timeoutMillis;
        long deadlineNanos = millis == 0 ? Long.MAX_VALUE : deadline(millis);
        take(readTurn, deadlineNanos);
        return deadlineNanos;
    }

    /**
     * Takes a turn. The wait for it counts for the timeout, which only reads have. As in the JDK, an interrupt does not
     * end this wait: it would close the socket, also for the thread that has the turn.
     */
    private static void take(CallerLock turn, long deadlineNanos) throws IOException {
        if (turn.tryLock()) {
            return;
        }
        if (deadlineNanos == Long.MAX_VALUE) {
            turn.lock();
        } else if (!turn.lockUntil(deadlineNanos)) {
            throw new SocketTimeoutException("Read timed out");
        }
    }

    /** The connection to read from, null at the end of the stream; the caller has the turn. */
    Connection readable() throws SocketException {
        Connection connected = connection();
        return inputShutdown ? null : connected;
    }

    void endRead() {
        readTurn.unlock();
        Reference.reachabilityFence(this); // or the cleaner could close the connection during the read
    }

    /** Takes the turn to write, until {@link #endWrite}. */
    void beginWrite() throws IOException {
        take(writeTurn, Long.MAX_VALUE);
    }

    void endWrite() {
        writeTurn.unlock();
        Reference.reachabilityFence(this);
    }

    @Override
    protected int available() throws IOException {
        StackRoom.ensure();
        Connection connected = connection();
        return inputShutdown ? 0 : connected.available();
    }

    @Override
    protected void shutdownInput() throws IOException {
        StackRoom.ensure();
        Connection connected = connection();
        inputShutdown = true;
        connected.shutdownInput();
    }

    @Override
    protected void shutdownOutput() throws IOException {
        StackRoom.ensure();
        connection().shutdownOutput();
    }

    @Override
    protected boolean supportsUrgentData() {
        return true;
    }

    @Override
    protected void sendUrgentData(int data) throws IOException {
        beginWrite();
        try {
            connection().sendUrgentData(data);
        } finally {
            endWrite();
        }
    }

    @Override
    protected void close() {
        StackRoom.ensure();
        Connection connected;
        HeldResource last;
        int lingerSeconds;
        synchronized (this) {
            if (state == State.CLOSED) {
                return;
            }
            state = State.CLOSED;
            connected = connection;
            connection = null;
            serverEnd = null;
            clientEnd = null;
            last = held;
            held = null;
            lingerSeconds = options.lingerSeconds;
        }
        if (connected != null && lingerSeconds >= 0) {
            connected.close(lingerSeconds);
            last.forget(); // it is closed: the cleaner has nothing to close any more
        } else if (last != null) {
            last.release();
        }
        Reference.reachabilityFence(this); // or the cleaner could release it meanwhile
    }

    // Options.

    @Override
    protected Set<SocketOption<?>> supportedOptions() {
        return SupportedOption.names(server);
    }

    @Override
    protected <T> void setOption(SocketOption<T> name, T value) throws IOException {
        SupportedOption<T> option = SupportedOption.of(Objects.requireNonNull(name), server);
        set(option, SupportedOption.as(option.name().type(), value));
    }

    @Override
    protected <T> T getOption(SocketOption<T> name) throws IOException {
        return SupportedOption.as(name.type(), get(SupportedOption.of(Objects.requireNonNull(name), server)));
    }

    private <T> T get(SupportedOption<T> option) throws SocketException {
        StackRoom.ensure();
        synchronized (this) {
            ensureOpen();
            T kept = option.reader().apply(options);
            return connection == null ? kept : connection.option(option.name(), kept);
        }
    }

    private <T> void set(SupportedOption<T> option, Object value) throws SocketException {
        StackRoom.ensure();
        synchronized (this) {
            ensureOpen();
            boolean made = state == State.CONNECTING || state == State.CONNECTED;
            option.ensureInTime(made, made || localport != 0);
            OptionValues changed = options.copy();
            option.set(made && option.time() == SupportedOption.Time.HINT ? new OptionValues() : changed, value);
            OptionValues before = options;
            options = changed;
            boolean passed = false;
            try {
                pass(option.name(), option.name().type().cast(value));
                passed = true;
            } finally {
                options = passed ? changed.shared() : before;
            }
            if (option.time() == SupportedOption.Time.TOLD) {
                tell();
            }
        }
    }

    /** Passes an option that was set to the connection or the acceptor, or notes it for them; state lock held. */
    private <T> void pass(SocketOption<T> name, T value) throws SocketException {
        if (connection != null) {
            connection.setOption(name, value);
        } else if (serverEnd != null) {
            serverEnd.setOption(name, value);
            serverEnd.options(options.sizes);
        } else {
            options.noteSet(name, value); // not shared yet
        }
    }

    /** Tells the connection, if there is one; state lock held. */
    private void tell() {
        if (connection != null) {
            StreamOptions sizes = options.sizes;
            connection.spin(sizes.get(Option.SPIN_MICROS));
            connection.keepAlive(sizes.keepAlive(), sizes.get(Option.KEEP_ALIVE_IDLE_SECONDS),
                    sizes.keepAliveProbeSeconds());
        }
    }

    @Override
    public void setOption(int id, Object value) throws SocketException {
        ensureOpen();
        switch (id) {
            case SO_TIMEOUT -> timeoutMillis = (int) checked(id, value instanceof Integer millis && millis >= 0, value);
            case SO_OOBINLINE -> urgentInline((boolean) checked(id, value instanceof Boolean, value));
            case SO_LINGER -> set(SupportedOption.byNumber(id, server), Boolean.FALSE.equals(value) ? -1 : value);
            default -> set(SupportedOption.byNumber(id, server), value);
        }
    }

    private static Object checked(int id, boolean valid, Object value) throws SocketException {
        if (!valid) {
            throw new SocketException("Bad value for option " + id + ": " + value);
        }
        return value;
    }

    /** A socket that is not connected keeps the wish: it then connects over TCP, which alone carries urgent data. */
    private synchronized void urgentInline(boolean on) throws SocketException {
        if (connection != null) {
            connection.urgentInline(on);
        }
        OptionValues changed = options.copy();
        changed.urgentInline = on;
        if (connection == null && isRdma(changed.transport)) {
            changed.wishes().ensureNotUrgent();
        }
        options = changed.shared();
    }

    @Override
    public Object getOption(int id) throws SocketException {
        ensureOpen();
        return switch (id) {
            case SO_TIMEOUT -> timeoutMillis;
            case SO_OOBINLINE -> urgentInline();
            case SO_BINDADDR -> boundAddress();
            default -> {
                Object value = get(SupportedOption.byNumber(id, server));
                yield id == SO_LINGER && value.equals(-1) ? Boolean.FALSE : value;
            }
        };
    }

    private static boolean isRdma(Transport wish) {
        return wish != null && !wish.is(Transport.AUTO) && !wish.is(Transport.TCP);
    }

    private synchronized boolean urgentInline() {
        return options.urgentInline;
    }

    private synchronized InetAddress boundAddress() {
        return localAddress != null ? unnamed(localAddress) : new InetSocketAddress(0).getAddress();
    }

    /** A local address as the system would report it: without the host name that the application gave. */
    private static InetAddress unnamed(InetAddress address) {
        byte[] bytes = address.getAddress();
        try {
            if (address instanceof Inet6Address scoped && scoped.getScopeId() != 0) {
                return Inet6Address.getByAddress(null, bytes, scoped.getScopeId());
            }
            return InetAddress.getByAddress(bytes);
        } catch (IOException e) {
            throw new IllegalArgumentException("an address has the length of one", e);
        }
    }
}
