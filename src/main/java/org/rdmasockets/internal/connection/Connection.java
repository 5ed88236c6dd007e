package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import org.rdmasockets.internal.rsockets.FlowKind;

/**
 * One established byte stream over RDMA ({@link StreamTransport}) or TCP ({@link TcpConnection}). One thread at a time
 * may read and one may write; a caller with more threads serialises them. Everything else may be called by any thread
 * at any time. After close every operation says "Socket closed".
 */
public interface Connection extends AutoCloseable {
    /** The transport's name as settings spell it: such as {@code tcp}. */
    String transport();

    /** The carrier of the bytes, for people: such as {@code device rxe0}. */
    String carrier();

    /** Notes why this transport was chosen, for people: when the application is about to get this. */
    void because(String reason);

    /** The agreement of the ends, the name of a {@link FlowKind}; {@code CREDIT_RING} where there is no choice. */
    default String streamKind() {
        return FlowKind.CREDIT_RING.name();
    }

    /** The local address: address and port, also after close. */
    InetSocketAddress localAddress();

    /** The peer's address: address and port, also after close. */
    InetSocketAddress remoteAddress();

    /**
     * Reads what is there, waiting for the first byte until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE}
     * for no end; -1 at the end of the stream. Throws {@code SocketTimeoutException} at the deadline,
     * {@code InterruptedIOException} if this virtual thread was interrupted (status left set), {@code SocketException}
     * if the connection is closed or broken.
     */
    int read(byte[] bytes, int offset, int length, long deadlineNanos) throws IOException;

    /** Writes everything, waiting while the peer does not read; then the data was copied. Throws as {@link #read}. */
    void write(byte[] bytes, int offset, int length) throws IOException;

    /** The transfers of this connection that copy nothing. */
    ZeroCopyTransfers direct();

    /** How many bytes can be read without waiting, 0 at the end of the stream; throws if the connection is closed. */
    int available() throws IOException;

    /** Ends reading: what is unread and what comes is thrown away, reads return -1. Throws if this is closed. */
    void shutdownInput() throws IOException;

    /** Ends writing: the peer reads the end of the stream after what was written before. */
    void shutdownOutput() throws IOException;

    /** Probes a connection that was idle for so many seconds, or no longer; an unanswered probe breaks it. */
    void keepAlive(boolean on, int idleSeconds, int probeSeconds);

    /**
     * How many microseconds a waiting caller looks for data itself before it parks, as
     * {@link StreamOptions.Option#SPIN_MICROS}, 0 to park at once; nothing where the kernel waits, as over TCP.
     */
    void spin(int micros);

    /**
     * Sends the lower eight bits of urgent data. Where nothing carries that, asks the peer's device for a sign of life
     * instead: the peer would throw the byte away. Throws if the connection is closed or broken, or its output is shut
     * down.
     */
    void sendUrgentData(int data) throws IOException;

    /** Reads urgent data in the stream from now on, or throws it away; throws if nothing carries it here. */
    void urgentInline(boolean on) throws SocketException;

    /** Sets an option of {@code java.net} where the carrier has such; elsewhere the socket keeps the value. */
    <T> void setOption(SocketOption<T> name, T value) throws SocketException;

    /** Gives the carrier's value of an option if it has that, else what the socket keeps. */
    <T> T option(SocketOption<T> name, T kept) throws SocketException;

    /**
     * Closes: wakes the reader and the writer, and returns at once. Written bytes go on to the peer in the background,
     * within the linger time.
     */
    @Override
    void close();

    /** Closes, waiting so many seconds at most until the peer has everything; 0 resets, and drops what is unsent. */
    void close(int lingerSeconds);
}
