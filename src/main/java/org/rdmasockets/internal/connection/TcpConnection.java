package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.rsockets.StreamConnection;

/**
 * A connection over TCP: an ordinary {@code java.net.Socket}, which does everything. This class adds deadlines instead
 * of SO_TIMEOUT, and tells the caller of an interrupt of a virtual thread, because its socket must end too.
 */
final class TcpConnection implements Connection {
    /** The transport's name as settings spell it. */
    static final String NAME = "tcp";

    private static final Log LOG = new Log(TcpConnection.class);
    /** All that were not closed; the cleaner closes a forgotten socket, too. */
    private static final Set<TcpConnection> OPEN = ConcurrentHashMap.newKeySet();
    /** The bytes of connections that have ended. */
    private static final LongAdder RECEIVED_BEFORE = new LongAdder();
    private static final LongAdder SENT_BEFORE = new LongAdder();

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    /** SO_TIMEOUT of the socket, in milliseconds; only the one reader uses it. */
    private int timeoutMillis;
    /** Null until it is needed; written under the lock of this. */
    private volatile TcpDirect direct;
    /** SO_LINGER was set. */
    private volatile boolean lingers;
    private final long madeNanos = System.nanoTime();
    /** Written by the one reader, and by the one writer. */
    private long readBytes;
    private long writtenBytes;
    /** Why TCP was chosen; null before the application has this. Written once, read by any thread. */
    private String reason;

    /** Wraps a socket, and is its only user from here: if that fails, the socket is closed. */
    TcpConnection(Socket socket) throws IOException {
        try {
            this.socket = socket;
            this.in = socket.getInputStream();
            this.out = socket.getOutputStream();
            this.local = (InetSocketAddress) socket.getLocalSocketAddress();
            this.remote = (InetSocketAddress) socket.getRemoteSocketAddress();
            OPEN.add(this);
        } catch (Throwable e) {
            TcpBinding.close(socket);
            throw e;
        }
    }

    @Override
    public String transport() {
        return NAME;
    }

    @Override
    public void because(String why) {
        reason = why;
    }

    @Override
    public String carrier() {
        return "java.net.Socket";
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** Whole milliseconds until a deadline, at least 1; 0 for none, as {@code java.net} has it. */
    static int millisUntil(long deadlineNanos) {
        if (deadlineNanos == Long.MAX_VALUE) {
            return 0;
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(NanoTimes.remaining(deadlineNanos) + 999_999);
        return Math.clamp(millis, 1, Integer.MAX_VALUE);
    }

    @Override
    public int read(byte[] bytes, int offset, int length, long deadlineNanos) throws IOException {
        if (direct != null) {
            direct.ensureNoView();
        }
        try {
            int millis = millisUntil(deadlineNanos);
            if (millis != timeoutMillis) {
                socket.setSoTimeout(millis);
                timeoutMillis = millis;
            }
            int count = in.read(bytes, offset, length);
            readBytes += Math.max(0, count);
            return count;
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
            out.write(bytes, offset, length);
            writtenBytes += length;
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    /**
     * Translates the exception of the TCP socket. When its virtual thread is interrupted, that socket closes itself;
     * ours must, too, and learns why.
     */
    static IOException translated(IOException e, Socket socket) {
        if (!socket.isClosed()) {
            return e;
        }
        Thread caller = Thread.currentThread();
        return caller.isVirtual() && caller.isInterrupted() ? NetErrors.interrupted() : NetErrors.closed();
    }

    @Override
    public synchronized ZeroCopyTransfers direct() {
        if (direct == null) {
            direct = new TcpDirect(this);
        }
        return direct;
    }

    @Override
    public int available() throws IOException {
        try {
            return in.available();
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    @Override
    public void shutdownInput() throws IOException {
        try {
            socket.shutdownInput();
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        try {
            socket.shutdownOutput();
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    @Override
    public void sendUrgentData(int data) throws IOException {
        try {
            socket.sendUrgentData(data);
        } catch (IOException e) {
            throw translated(e, socket);
        }
    }

    @Override
    public void urgentInline(boolean on) throws SocketException {
        socket.setOOBInline(on);
    }

    /** Does nothing: the kernel waits. */
    @Override
    public void spin(int micros) {}

    /** Does nothing: TCP's options have it, see {@link #setOption}. */
    @Override
    public void keepAlive(boolean on, int idleSeconds, int probeSeconds) {}

    @Override
    public <T> void setOption(SocketOption<T> name, T value) throws SocketException {
        try {
            if (socket.supportedOptions().contains(name)) {
                socket.setOption(name, value);
                lingers |= name == StandardSocketOptions.SO_LINGER;
            }
        } catch (IOException e) {
            throw NetErrors.ofOption(e, socket.isClosed());
        }
    }

    @Override
    public <T> T option(SocketOption<T> name, T kept) throws SocketException {
        try {
            return socket.supportedOptions().contains(name) ? socket.getOption(name) : kept;
        } catch (IOException e) {
            throw NetErrors.ofOption(e, socket.isClosed());
        }
    }

    /** The kernel delivers in the background, unless SO_LINGER lets close wait. */
    @Override
    public void close() {
        if (lingers) {
            close(-1);
        } else {
            end();
        }
    }

    private void end() {
        if (OPEN.remove(this)) {
            RECEIVED_BEFORE.add(readBytes);
            SENT_BEFORE.add(writtenBytes);
        }
        TcpBinding.close(socket);
    }

    @Override
    public void close(int lingerSeconds) {
        try {
            socket.setOption(StandardSocketOptions.SO_LINGER, lingerSeconds);
        } catch (IOException e) {
            LOG.debug("[{}->{}] {}", local, remote, e.getMessage());
        } finally {
            end();
        }
    }

    /** Tells of all that are open; the kernel knows more of them, which {@code ss -ti} asks. Any thread. */
    static void tellAll(ConnectionReport report) {
        for (TcpConnection connection : OPEN) {
            if (!report.begin()) {
                return;
            }
            connection.tell(report);
        }
    }

    private void tell(ConnectionReport report) {
        report.end(NAME, local, remote, socket.isClosed() ? "closing" : socket.isInputShutdown()
                || socket.isOutputShutdown() ? "shut here" : "open");
        report.since("age", madeNanos);
        report.because(reason);
        report.bytes(writtenBytes, readBytes);
        try {
            report.put("unread", in.available());
        } catch (IOException e) {
            report.put("unread", 0); // it is closed
        }
    }

    /** How many there are that were not closed. */
    static int open() {
        return OPEN.size();
    }

    /** Bytes that all of them have read so far. */
    static long receivedBytesOfAll() {
        return RECEIVED_BEFORE.sum() + OPEN.stream().mapToLong(one -> one.readBytes).sum();
    }

    /** Bytes that all of them have written. */
    static long sentBytesOfAll() {
        return SENT_BEFORE.sum() + OPEN.stream().mapToLong(one -> one.writtenBytes).sum();
    }

    /** The transfers of memory over TCP, which copies everything. */
    private static final class TcpDirect implements ZeroCopyTransfers {
        /** Enough for a large message. */
        private static final int STAGE_BYTES = 64 << 10;

        private final TcpConnection connection;
        /** The writer's; null until it is needed. */
        private byte[] writeStage;
        /** The reader's, likewise. */
        private byte[] readStage;
        /** The memory that views look at, one after the other; likewise. */
        private MemorySegment block;
        /** The view that is open, else null; one reader at a time writes it. */
        private volatile DirectView view;

        TcpDirect(TcpConnection connection) {
            this.connection = connection;
        }

        @Override
        public DirectMemory allocate(int bytes) throws IOException {
            connection.available(); // throws if it is closed
            try {
                return new DirectMemory(this, null, Arena.ofAuto().allocate(bytes), region -> { });
            } catch (OutOfMemoryError e) {
                throw new SocketException("no memory for a buffer of " + bytes + " bytes: " + e.getMessage(), e);
            }
        }

        @Override
        public void write(DirectMemory from, int offset, int length) throws IOException {
            if (writeStage == null) {
                writeStage = new byte[STAGE_BYTES];
            }
            MemorySegment source = from.memory();
            for (int done = 0; done < length;) {
                int count = Math.min(length - done, STAGE_BYTES);
                MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset + done, writeStage, 0, count);
                connection.write(writeStage, 0, count);
                done += count;
            }
        }

        @Override
        public DirectView receive(long deadlineNanos) throws IOException {
            if (readStage == null) {
                readStage = new byte[STAGE_BYTES];
                block = Arena.ofAuto().allocate(STAGE_BYTES);
            }
            int count = connection.read(readStage, 0, STAGE_BYTES, deadlineNanos);
            if (count < 0) {
                return null;
            }
            Arena arena = Arena.ofConfined();
            MemorySegment bytes = DirectView.keeping(arena, block.asSlice(0, count));
            MemorySegment.copy(readStage, 0, bytes, ValueLayout.JAVA_BYTE, 0, count);
            view = new DirectView(arena, bytes.asReadOnly(), ended -> view = null);
            return view;
        }

        /** As over RDMA: one view at a time, and no other reads meanwhile. */
        void ensureNoView() {
            if (view != null) {
                throw new IllegalStateException(StreamConnection.VIEW_OPEN);
            }
        }

        @Override
        public DirectMemory map(int bytes, long offset) throws IOException {
            throw noMaps();
        }

        @Override
        public void place(long at, DirectMemory from, int offset, int length) throws IOException {
            throw noMaps();
        }

        private static SocketException noMaps() {
            return new SocketException("No memory can be mapped over TCP; the option TRANSPORT tells why this is TCP,"
                    + " and can force another transport");
        }
    }
}
