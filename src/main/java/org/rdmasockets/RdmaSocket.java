package org.rdmasockets;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.NotYetConnectedException;
import java.util.Objects;
import org.rdmasockets.internal.connection.DirectView;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.socket.BufferTransfers;
import org.rdmasockets.internal.socket.RdmaSocketImpl;

/**
 * A socket whose stream runs over the best transport that leads to the peer: memory shared with another process of this
 * host, RDMA (to an {@link RdmaServerSocket} or any program that speaks rsockets), or TCP, to any server.
 * {@link RdmaSocketOptions#TRANSPORT} tells which it is and why, and can force one.
 *
 * <p>It does everything that {@link Socket} can do, but over RDMA urgent data: {@link #sendUrgentData} asks the peer's
 * device for a sign of life instead, and {@link #setOOBInline} with true throws a {@code SocketException}; set before
 * connecting, it makes {@code auto} choose TCP. Over TCP it is such a socket, SOCKS settings included. Over RDMA,
 * buffer sizes and the traffic class are those of the time when it connects; TCP_NODELAY and SO_REUSEADDR are kept but
 * change nothing, because nothing is held back and closed ports are free at once. Further options are in {@link
 * RdmaSocketOptions}.
 *
 * <p>It reads and writes buffers and memory segments as a channel does that blocks; see {@link #read(ByteBuffer)} and
 * {@link #write(ByteBuffer)}. These methods take turns with the streams: one reader and one writer at a time, in the
 * order of their coming, and {@code SO_TIMEOUT} and an interrupt of a virtual thread mean what they mean there.
 *
 * <p>Bytes need not be copied: {@link #allocateBuffer} gives memory to write from, {@link #receive} lends what has
 * arrived, and {@link #map} lets the peer write into memory of this program.
 *
 * <p>Where a transport is forced and not available, binding and connecting throw a {@code SocketException} that says
 * why and what to do; {@link RdmaDevices#unavailability()} tells beforehand.
 *
 * @since 0.1
 */
public final class RdmaSocket extends Socket implements ByteChannel, GatheringByteChannel {
    private final RdmaSocketImpl impl;

    /**
     * Makes an unconnected socket.
     *
     * @throws SocketException never; the superclass declares it
     */
    public RdmaSocket() throws SocketException {
        this(new RdmaSocketImpl(false));
    }

    RdmaSocket(RdmaSocketImpl impl) throws SocketException {
        super(impl);
        this.impl = impl;
    }

    private BufferTransfers buffers() {
        return impl.transfers(this);
    }

    /**
     * Connects to a port of a named host.
     *
     * @param host name or address of the host, null for the loopback address
     * @param port 0 to 65535
     * @throws IOException if the host is unknown or the connection cannot be made, see {@link Socket#connect}
     */
    public RdmaSocket(String host, int port) throws IOException {
        this(at(host, port), null);
    }

    /**
     * Connects to a port of a host.
     *
     * @param address the host
     * @param port 0 to 65535
     * @throws IOException if the connection cannot be made, see {@link Socket#connect}
     */
    public RdmaSocket(InetAddress address, int port) throws IOException {
        this(at(address, port), null);
    }

    /**
     * Connects to a port of a named host from a local address.
     *
     * @param host name or address of the host, null for the loopback address
     * @param port 0 to 65535
     * @param localAddress an address of this machine, or null for any
     * @param localPort 0 to 65535; 0 takes a free one
     * @throws IOException if the host is unknown, the local address cannot be had or the connection cannot be made
     */
    public RdmaSocket(String host, int port, InetAddress localAddress, int localPort) throws IOException {
        this(at(host, port), new InetSocketAddress(localAddress, localPort));
    }

    /**
     * Connects to a port of a host from a local address.
     *
     * @param address the host
     * @param port 0 to 65535
     * @param localAddress an address of this machine, or null for any
     * @param localPort 0 to 65535; 0 takes a free one
     * @throws IOException if the local address cannot be had or the connection cannot be made
     */
    public RdmaSocket(InetAddress address, int port, InetAddress localAddress, int localPort) throws IOException {
        this(at(address, port), new InetSocketAddress(localAddress, localPort));
    }

    private static InetSocketAddress at(String host, int port) {
        StackRoom.ensure(); // a look-up of the JDK that overflows can leave its lock held for good
        return host != null ? new InetSocketAddress(host, port) : at(InetAddress.getLoopbackAddress(), port);
    }

    /** Null is refused, as {@code java.net.Socket} does: it would become the wildcard. */
    private static InetSocketAddress at(InetAddress address, int port) {
        return new InetSocketAddress(Objects.requireNonNull(address, "address"), port);
    }

    private RdmaSocket(InetSocketAddress remote, InetSocketAddress local) throws IOException {
        this();
        connectOrClose(remote, local);
    }

    /** Connects from a local address, null for any. */
    RdmaSocket connectOrClose(InetSocketAddress remote, InetSocketAddress local) throws IOException {
        try {
            if (local != null) {
                bind(local);
            }
            connect(remote);
            return this;
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Tells whether this has not been closed.
     *
     * @return true until then
     */
    @Override
    public boolean isOpen() {
        return !isClosed();
    }

    /**
     * Reads what is there, waiting for the first byte within {@code SO_TIMEOUT}.
     *
     * @param to gets the bytes from its position on, which moves
     * @return how many bytes, 0 only if there is no room, -1 at the end of the stream
     * @throws IllegalArgumentException if the buffer is read-only
     * @throws NotYetConnectedException if this is not connected
     * @throws IOException {@code ClosedChannelException} if this is closed, {@code AsynchronousCloseException} if that
     *         happens meanwhile, {@code ClosedByInterruptException} if an interrupt of this virtual thread does it,
     *         {@code SocketTimeoutException} when the time is over, {@code SocketException} if the connection breaks
     */
    @Override
    public int read(ByteBuffer to) throws IOException {
        BufferTransfers.ensureUsable(this, to.isReadOnly());
        try {
            return to.hasRemaining() ? buffers().read(to) : 0;
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Reads what is there, waiting for the first byte within {@code SO_TIMEOUT}.
     *
     * @param to gets the bytes from its beginning on; must stay alive meanwhile
     * @return how many bytes, 0 only if there is no room, -1 at the end of the stream
     * @throws IllegalArgumentException if the segment is read-only
     * @throws WrongThreadException if the segment belongs to another thread
     * @throws IOException as {@link #read(ByteBuffer)}
     */
    public int read(MemorySegment to) throws IOException {
        BufferTransfers.ensureUsable(this, to.isReadOnly());
        BufferTransfers.ensureAccess(to);
        try {
            return to.byteSize() > 0 ? buffers().read(to) : 0;
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Writes everything, waiting while the peer does not read: a write is never partial.
     *
     * @param from the buffer to write, from its position on, which moves to the limit
     * @return how many bytes that was
     * @throws NotYetConnectedException if this is not connected
     * @throws IOException {@code ClosedChannelException} if this is closed or its output is shut down,
     *         {@code AsynchronousCloseException} if it is closed meanwhile, {@code ClosedByInterruptException} if an
     *         interrupt of this virtual thread does it, {@code SocketException} if the connection breaks; the position
     *         means nothing then
     */
    @Override
    public int write(ByteBuffer from) throws IOException {
        BufferTransfers.ensureWritable(this);
        try {
            return from.hasRemaining() ? buffers().write(from) : 0;
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Writes everything that is in several buffers. Nothing that another thread writes comes in between, and small
     * buffers, such as a header and what belongs to it, go together.
     *
     * @param from the buffers to write, each from its position on, which moves to the limit
     * @param offset index of the first buffer
     * @param length how many buffers
     * @return how many bytes that was
     * @throws IOException as {@link #write(ByteBuffer)}
     */
    @Override
    public long write(ByteBuffer[] from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.length);
        for (int i = offset; i < offset + length; i++) {
            Objects.requireNonNull(from[i]);
        }
        BufferTransfers.ensureWritable(this);
        try {
            return buffers().write(from, offset, length);
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Writes everything that is in several buffers, see {@link #write(ByteBuffer[], int, int)}.
     *
     * @param from the buffers to write, each from its position on, which moves to the limit
     * @return how many bytes that was
     * @throws IOException as {@link #write(ByteBuffer)}
     */
    @Override
    public long write(ByteBuffer[] from) throws IOException {
        return write(from, 0, from.length);
    }

    /**
     * Writes a whole segment, waiting while the peer does not read.
     *
     * @param from the segment to write; must stay alive meanwhile
     * @return how many bytes that was
     * @throws WrongThreadException if the segment belongs to another thread
     * @throws IOException as {@link #write(ByteBuffer)}
     */
    public long write(MemorySegment from) throws IOException {
        BufferTransfers.ensureWritable(this);
        BufferTransfers.ensureAccess(from);
        try {
            buffers().write(from);
            return from.byteSize();
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Allocates memory that {@link #write(RdmaBuffer, int, int)} sends from without a copy. It belongs to this
     * socket's connection, which keeps it for the next call when it is closed, up to 1 MiB in all. The first such call
     * takes about a millisecond, because a device has to learn of the memory; so allocate early, and use it again.
     *
     * @param bytes how much, at least 1
     * @return a new buffer with any content
     * @throws IllegalArgumentException if that is less than 1
     * @throws NotYetConnectedException if this is not connected
     * @throws IOException {@code ClosedChannelException} if this is closed, {@code ClosedByInterruptException} if an
     *         interrupt of this virtual thread closes it, {@code SocketException} if there is not enough memory or the
     *         device takes no more of it, with the remedy
     */
    public RdmaBuffer allocateBuffer(int bytes) throws IOException {
        if (bytes < 1) {
            throw new IllegalArgumentException("a buffer has at least one byte, not " + bytes);
        }
        BufferTransfers.ensureConnected(this);
        try {
            return new RdmaBuffer(buffers().allocate(bytes));
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Writes a part of a buffer, waiting while the peer does not read. When it returns, the buffer may be changed. Over
     * a device up to 2 KiB are copied, and more is not: the device reads the buffer, and this call returns when it has
     * done so and has an answer of the peer's device, a round trip later. Over shared memory there is one copy,
     * straight to the peer, and over TCP the buffer is copied as any other.
     *
     * @param from a buffer that this socket has allocated
     * @param offset the first byte
     * @param length how many
     * @return how many bytes that was
     * @throws IndexOutOfBoundsException if the part is not inside the buffer
     * @throws IllegalStateException if the buffer is closed; it may be closed meanwhile
     * @throws IllegalArgumentException if the buffer is another socket's
     * @throws IOException as {@link #write(ByteBuffer)}; until this socket is closed, what is written to the buffer may
     *         reach the peer then, so the socket keeps its memory until then
     */
    public int write(RdmaBuffer from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.lengthBytes());
        BufferTransfers.ensureWritable(this);
        try {
            buffers().write(from.memory, offset, length);
            return length;
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Maps memory for the peer to write to, beside the stream and without this program's help: {@code riomap} of
     * {@code rsocket(7)}. The peer names it by offsets of your choice, and writes by {@link #place} or
     * {@code riowrite}; it must have taken maps, see {@link RdmaSocketOptions#RDMA_IOMAPSIZE}. It is told at once, and
     * before anything that is written later. Nothing tells this program that bytes have arrived, but what the peer
     * writes to the stream after them.
     *
     * <p>The peer may write to it at any time until it is closed, so copy what is checked and used later. A peer that
     * writes to it after that loses its connection.
     *
     * @param bytes how much, at least 1
     * @param offset by which the peer names the first byte, not negative
     * @return memory of zeros, mapped until it is closed; it can be written from, too
     * @throws IllegalArgumentException if the numbers are out of range, or some of the offsets are mapped
     * @throws NotYetConnectedException if this is not connected
     * @throws IOException as {@link #allocateBuffer} and {@link #write(ByteBuffer)}; {@code SocketException}, too, if
     *         the peer takes no more maps, or the transport is TCP
     */
    public RdmaBuffer map(int bytes, long offset) throws IOException {
        if (bytes < 1 || offset < 0) {
            throw new IllegalArgumentException("cannot map " + bytes + " bytes at offset " + offset);
        }
        BufferTransfers.ensureWritable(this);
        try {
            return new RdmaBuffer(buffers().map(bytes, offset));
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Writes a part of a buffer into memory that the peer has mapped: {@code riowrite} of {@code rsocket(7)}. The peer
     * is not told; what is written to the stream later arrives later. The buffer may be changed when this returns, as
     * after {@link #write(RdmaBuffer, int, int)}. The peer need not read for this.
     *
     * @param at by which offset the peer has mapped the first byte, not negative
     * @param from a buffer that this socket has allocated or mapped
     * @param offset the first byte
     * @param length how many
     * @throws IndexOutOfBoundsException if the part is not inside the buffer
     * @throws IllegalArgumentException if the buffer is another socket's, or the offset is negative
     * @throws IllegalStateException if the buffer is closed
     * @throws IOException as {@link #write(ByteBuffer)}; {@code SocketException}, too, if the peer has not mapped all
     *         of the range, which leaves the connection as it is, or the transport is TCP
     */
    public void place(long at, RdmaBuffer from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.lengthBytes());
        if (at < 0) {
            throw new IllegalArgumentException("nothing is mapped at offset " + at);
        }
        BufferTransfers.ensureWritable(this);
        try {
            buffers().place(at, from.memory, offset, length);
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }

    /**
     * Reads without copying: lends what has arrived, waiting for the first byte within {@code SO_TIMEOUT}. Over RDMA
     * and shared memory these are the bytes where the peer has put them; over TCP they are a copy. They count as read
     * when they are closed, and the peer gets their room back then; so that should be soon.
     *
     * @return bytes to look at and to close, for the calling thread; null at the end of the stream
     * @throws IllegalStateException if the bytes received last are not closed; all other reads throw that, too
     * @throws NotYetConnectedException if this is not connected
     * @throws IOException as {@link #read(ByteBuffer)}
     */
    public ReceivedBytes receive() throws IOException {
        BufferTransfers.ensureConnected(this);
        try {
            DirectView lent = buffers().receive();
            return lent == null ? null : new ReceivedBytes(lent);
        } catch (SocketException | InterruptedIOException e) {
            throw BufferTransfers.ofChannel(this, e);
        }
    }
}
