package org.rdmasockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.ref.Reference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.transport.Binding;
import org.rdmasockets.transport.Listener;
import org.rdmasockets.transport.StreamOptions;
import org.rdmasockets.transport.StreamTransport;

/**
 * What {@code java.net.Socket} and {@code java.net.ServerSocket} need, over the RDMA transport: the life of one socket,
 * its options, and one reader and one writer at a time.
 *
 * <p>Any method may be called by any thread, virtual or platform. {@code close} never waits for the others (unless
 * SO_LINGER says so): it takes the transport away, which ends their waits with "Socket closed". A virtual thread that
 * is interrupted while it waits gets an {@code InterruptedIOException} with its status set, which makes the callers in
 * {@code java.net} close the socket; an interrupt of a platform thread does nothing.
 */
final class RdmaSocketImpl extends SocketImpl {
    /** The life of a socket. */
    private enum State { NEW, UNCONNECTED, CONNECTING, CONNECTED, LISTENING, CLOSED }

    private final boolean server;
    private final CallerLock readLock = new CallerLock();
    private final CallerLock writeLock = new CallerLock();
    /** Guards what says so; held for a few lines, never while waiting. */
    private final Object stateLock = new Object();
    /** Changed under stateLock. */
    private volatile State state = State.NEW;
    /** The connection while state is CONNECTED, else null; changed under stateLock. */
    private volatile StreamTransport transport;
    /** The listener while state is LISTENING, else null; changed under stateLock. */
    private volatile Listener listener;
    /** The local address held while there is neither connection nor listener, else null; protected by stateLock. */
    private Binding binding;
    /** What the cleaner would have to release, null until there is something; protected by stateLock. */
    private HeldResource held;
    /** The local address for SO_BINDADDR, null while unbound; protected by stateLock. */
    private InetAddress localAddress;
    /** Protected by stateLock. */
    private final OptionValues options = new OptionValues();
    /** SO_TIMEOUT in milliseconds, 0 for none. */
    private volatile int timeoutMillis;
    /** Reads give the end of the stream from now on. */
    private volatile boolean inputShutdown;

    /**
     * Makes a socket that holds nothing yet.
     *
     * @param server whether it will listen
     */
    RdmaSocketImpl(boolean server) {
        this.server = server;
        options.reuseAddress = server; // as the JDK's server sockets on Linux
    }

    @Override
    protected void create(boolean stream) throws IOException {
        if (!stream) {
            throw new SocketException("RDMA sockets are streams: datagrams are not supported");
        }
        synchronized (stateLock) {
            if (state != State.NEW) {
                throw new SocketException("Already created");
            }
            state = State.UNCONNECTED;
        }
    }

    /** "Socket closed" for every operation after close. */
    private void ensureOpen() throws SocketException {
        if (state == State.CLOSED) {
            throw closed();
        }
    }

    private static SocketException closed() {
        return new SocketException("Socket closed");
    }

    /** The connection, or the reason why there is none. */
    private StreamTransport connection() throws SocketException {
        StreamTransport connected = transport;
        if (connected == null) {
            ensureOpen();
            throw new SocketException("Not connected");
        }
        return connected;
    }

    /** Holds something that close, or else the cleaner, releases; stateLock held. */
    private void hold(Runnable release) {
        if (held == null) {
            held = HeldResource.of(this);
        }
        held.hold(release);
    }

    // Binding and connecting.

    @Override
    protected void bind(InetAddress host, int port) throws IOException {
        synchronized (stateLock) {
            ensureOpen();
            ensureUnbound();
        }
        Binding bound;
        try {
            bound = Binding.open(new InetSocketAddress(host, port));
        } catch (IOException e) {
            throw asSocketException(e);
        }
        adoptBinding(bound);
    }

    private void ensureUnbound() throws SocketException {
        if (localport != 0) {
            throw new SocketException("Already bound");
        }
    }

    private void adoptBinding(Binding bound) throws SocketException {
        boolean adopted = false;
        try {
            synchronized (stateLock) {
                ensureOpen();
                ensureUnbound();
                binding = bound;
                hold(bound::close);
                localport = bound.localAddress().getPort();
                localAddress = bound.localAddress().getAddress();
                address = localAddress; // where a server socket looks; connect overwrites it
                adopted = true;
            }
        } finally {
            if (!adopted) {
                bound.close();
            }
        }
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
        if (!(remote instanceof InetSocketAddress target)) {
            throw new IllegalArgumentException("Unsupported address type");
        }
        long deadlineNanos = deadline(millis);
        try {
            implConnect(resolved(target), deadlineNanos);
        } catch (IOException e) {
            close();
            if (isInterruptOfVirtualThread(e)) {
                throw new SocketException("Closed by interrupt");
            }
            throw asSocketException(e);
        }
    }

    /** The address to connect to: the wildcard stands for this host. */
    private InetSocketAddress resolved(InetSocketAddress target) throws IOException {
        if (target.isUnresolved()) {
            throw new UnknownHostException(target.getHostName());
        }
        if (!target.getAddress().isAnyLocalAddress()) {
            return target;
        }
        InetAddress own;
        synchronized (stateLock) {
            own = localAddress;
        }
        boolean known = own != null && !own.isAnyLocalAddress();
        return new InetSocketAddress(known ? own : InetAddress.getLocalHost(), target.getPort());
    }

    /** Waits until connected. */
    private void implConnect(InetSocketAddress target, long deadlineNanos) throws IOException {
        StreamOptions wishes;
        synchronized (stateLock) {
            ensureOpen();
            switch (state) {
                case CONNECTING -> throw new SocketException("Connection in progress");
                case CONNECTED -> throw new SocketException("Already connected");
                default -> state = State.CONNECTING;
            }
            address = target.getAddress();
            port = target.getPort();
            wishes = options.forTransport();
        }
        StreamTransport connected = bindingToConnect().connect(target, deadlineNanos, wishes);
        synchronized (stateLock) {
            if (state == State.CONNECTING) {
                adoptConnection(connected);
                return;
            }
        }
        connected.close();
        throw closed();
    }

    /** The binding that bind has made, or one that leaves the choice to connect. */
    private Binding bindingToConnect() throws IOException {
        synchronized (stateLock) {
            ensureOpen();
            if (binding != null) {
                return binding;
            }
        }
        Binding unbound = Binding.unbound();
        synchronized (stateLock) {
            if (state != State.CLOSED) {
                binding = unbound;
                hold(unbound::close);
                return unbound;
            }
        }
        unbound.close();
        throw closed();
    }

    /** Becomes connected; stateLock held. */
    private void adoptConnection(StreamTransport connected) {
        transport = connected;
        binding = null;
        hold(connected::close);
        localport = connected.localAddress().getPort();
        localAddress = connected.localAddress().getAddress();
        state = State.CONNECTED;
    }

    // Listening and accepting.

    @Override
    protected void listen(int backlog) throws IOException {
        Binding bound;
        StreamOptions wishes;
        synchronized (stateLock) {
            ensureOpen();
            if (binding == null) {
                throw new SocketException("Not bound");
            }
            bound = binding;
            wishes = options.forTransport();
        }
        Listener listening;
        try {
            listening = bound.listen(backlog, wishes);
        } catch (IOException e) {
            unbind(bound);
            throw asSocketException(e);
        }
        synchronized (stateLock) {
            if (state != State.CLOSED) {
                listener = listening;
                binding = null;
                hold(listening::close);
                state = State.LISTENING;
                return;
            }
        }
        listening.close();
        throw closed();
    }

    /** After a failed listen, as on a port that iWARP shares with TCP: the socket may bind to another. */
    private void unbind(Binding used) {
        used.close();
        synchronized (stateLock) {
            if (binding == used) {
                binding = null;
                held.hold(null);
                localport = 0;
                localAddress = null;
                address = null;
            }
        }
    }

    @Override
    protected void accept(SocketImpl to) throws IOException {
        if (!(to instanceof RdmaSocketImpl accepted)) {
            throw new SocketException("An instance of " + getClass()
                    + " cannot accept a connection with an instance of " + to.getClass());
        }
        Listener listening = listener;
        if (listening == null) {
            ensureOpen();
            throw new SocketException("Not listening");
        }
        StreamTransport connected = listening.accept(deadline(timeoutMillis));
        StreamOptions made;
        synchronized (stateLock) {
            made = options.forTransport();
        }
        accepted.becomeAccepted(connected, made);
    }

    /** The other side of accept: this socket gets the connection, instead of whatever it had before. */
    private void becomeAccepted(StreamTransport connected, StreamOptions made) throws SocketException {
        synchronized (stateLock) {
            if (state == State.NEW || state == State.UNCONNECTED) {
                if (binding != null) {
                    binding.close();
                }
                options.takeSizes(made);
                address = connected.remoteAddress().getAddress();
                port = connected.remoteAddress().getPort();
                adoptConnection(connected);
                applyKeepAlive();
                return;
            }
        }
        connected.close();
        throw closed();
    }

    // Reading and writing.

    /** The end of a wait that starts now, by {@code System.nanoTime}; {@code Long.MAX_VALUE} for none. */
    private static long deadline(int millis) {
        return millis <= 0 ? Long.MAX_VALUE : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Override
    protected InputStream getInputStream() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] b, int off, int len) throws IOException {
                return RdmaSocketImpl.this.read(b, off, len);
            }

            @Override
            public int available() throws IOException {
                return RdmaSocketImpl.this.available();
            }

            @Override
            public void close() throws IOException {
                RdmaSocketImpl.this.close();
            }
        };
    }

    @Override
    protected OutputStream getOutputStream() {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] b, int off, int len) throws IOException {
                RdmaSocketImpl.this.write(b, off, len);
            }

            @Override
            public void close() throws IOException {
                RdmaSocketImpl.this.close();
            }
        };
    }

    /** Waits for at least one byte, or the end of the stream (-1). */
    private int read(byte[] b, int off, int len) throws IOException {
        Objects.checkFromIndexSize(off, len, b.length);
        if (len == 0) {
            return 0;
        }
        long deadlineNanos = deadline(timeoutMillis);
        readLock.lock(deadlineNanos);
        try {
            StreamTransport connected = connection();
            return inputShutdown ? -1 : connected.read(b, off, len, deadlineNanos);
        } finally {
            readLock.unlock();
            Reference.reachabilityFence(this); // or the cleaner could close what is being read
        }
    }

    /** Waits until everything is taken. */
    private void write(byte[] b, int off, int len) throws IOException {
        Objects.checkFromIndexSize(off, len, b.length);
        if (len == 0) {
            return;
        }
        writeLock.lock(Long.MAX_VALUE);
        try {
            connection().write(b, off, len);
        } finally {
            writeLock.unlock();
            Reference.reachabilityFence(this);
        }
    }

    @Override
    protected int available() throws IOException {
        StreamTransport connected = connection();
        return inputShutdown ? 0 : connected.available();
    }

    @Override
    protected void shutdownInput() throws IOException {
        StreamTransport connected = connection();
        inputShutdown = true;
        connected.shutdownInput();
    }

    @Override
    protected void shutdownOutput() throws IOException {
        connection().shutdownOutput();
    }

    @Override
    protected void sendUrgentData(int data) throws IOException {
        throw new SocketException("Urgent data not supported");
    }

    @Override
    protected void close() {
        StreamTransport connected;
        HeldResource last;
        int lingerSeconds;
        synchronized (stateLock) {
            if (state == State.CLOSED) {
                return;
            }
            state = State.CLOSED;
            connected = transport;
            transport = null;
            listener = null;
            binding = null;
            last = held;
            held = null;
            lingerSeconds = options.lingerSeconds;
            if (connected != null && lingerSeconds >= 0) {
                last.forget();
            }
        }
        if (connected != null && lingerSeconds >= 0) {
            connected.close(lingerSeconds);
        } else if (last != null) {
            last.release();
        }
    }

    // Options.

    @Override
    protected Set<SocketOption<?>> supportedOptions() {
        return SupportedOption.names(server);
    }

    @Override
    protected <T> void setOption(SocketOption<T> name, T value) throws IOException {
        set(SupportedOption.of(Objects.requireNonNull(name), server), value);
    }

    @Override
    protected <T> T getOption(SocketOption<T> name) throws IOException {
        SupportedOption<T> option = SupportedOption.of(Objects.requireNonNull(name), server);
        synchronized (stateLock) {
            ensureOpen();
            return option.reader().apply(options);
        }
    }

    private void set(SupportedOption<?> option, Object value) throws SocketException {
        synchronized (stateLock) {
            ensureOpen();
            boolean made = state == State.CONNECTING || state == State.CONNECTED;
            if (made && option.time() == SupportedOption.Time.BEFORE_CONNECT) {
                throw new SocketException(option.name() + " can be set only before the socket is connected");
            }
            option.set(made && option.time() == SupportedOption.Time.HINT ? new OptionValues() : options, value);
            if (option.time() == SupportedOption.Time.KEEP_ALIVE) {
                applyKeepAlive();
            }
            if (listener != null) {
                listener.options(options.forTransport());
            }
        }
    }

    /** Tells the connection, if there is one; stateLock held. */
    private void applyKeepAlive() {
        if (transport != null) {
            transport.keepAlive(options.keepAlive, options.keepAliveIdleSeconds, options.keepAliveProbeSeconds());
        }
    }

    @Override
    public void setOption(int id, Object value) throws SocketException {
        ensureOpen();
        switch (id) {
            case SO_TIMEOUT -> timeoutMillis = (int) checked(id, value instanceof Integer millis && millis >= 0, value);
            case SO_OOBINLINE -> checked(id, Boolean.FALSE.equals(value), value);
            case SO_LINGER -> set(SupportedOption.byNumber(id, server), Boolean.FALSE.equals(value) ? -1 : value);
            default -> set(SupportedOption.byNumber(id, server), value);
        }
    }

    private static Object checked(int id, boolean valid, Object value) throws SocketException {
        if (!valid) {
            throw new SocketException("Bad value for option " + id + ": " + value
                    + (id == SO_OOBINLINE ? "; urgent data is not supported" : ""));
        }
        return value;
    }

    @Override
    public Object getOption(int id) throws SocketException {
        ensureOpen();
        return switch (id) {
            case SO_TIMEOUT -> timeoutMillis;
            case SO_OOBINLINE -> false;
            case SO_BINDADDR -> boundAddress();
            default -> {
                Object value;
                synchronized (stateLock) {
                    value = SupportedOption.byNumber(id, server).reader().apply(options);
                }
                yield id == SO_LINGER && value.equals(-1) ? Boolean.FALSE : value;
            }
        };
    }

    private InetAddress boundAddress() {
        synchronized (stateLock) {
            return localAddress != null ? localAddress : new InetSocketAddress(0).getAddress();
        }
    }

    // Errors.

    private static boolean isInterruptOfVirtualThread(IOException e) {
        return e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)
                && Thread.currentThread().isVirtual();
    }

    /** Users of {@code java.net} expect its exceptions; anything else becomes one, with its text. */
    private static IOException asSocketException(IOException e) {
        return switch (e) {
            case SocketException s -> s;
            case InterruptedIOException i -> i;
            case UnknownHostException u -> u;
            default -> new SocketException(e.getMessage(), e);
        };
    }
}
