package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The exceptions that users of {@code java.net} expect, of errors of verbs and of the connection manager too; apart
 * from the code that throws them also because compilers would put their making into the frames of waiting threads.
 */
public final class NetErrors {
    private NetErrors() {}

    /** The text of every operation on a socket that was closed meanwhile. */
    public static SocketException closed() {
        return new SocketException("Socket closed");
    }

    /** Why there is no connection. */
    public static SocketException noConnection(boolean closed) {
        return closed ? closed() : new SocketException("Not connected");
    }

    /** Whether an exception says that this virtual thread was interrupted. */
    public static boolean isInterruptOfVirtualThread(Exception e) {
        return e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)
                && Thread.currentThread().isVirtual();
    }

    /**
     * Users of {@code java.net} expect its exceptions; an exception of this library's own becomes one, with its text.
     */
    public static IOException asSocketException(Exception e) {
        return switch (e) {
            case VerbsException v -> other(v);
            case IOException own -> own;
            default -> new SocketException(e.toString(), e);
        };
    }

    /** In the words of {@code java.net.Socket}. */
    static SocketException notUrgent() {
        return new SocketException("Urgent data not supported: only TCP carries it");
    }

    /** An option that the system would not set or tell. */
    static SocketException ofOption(IOException e, boolean closed) {
        if (closed) {
            return closed();
        }
        return e instanceof SocketException own ? own : with(new SocketException(e.getMessage()), e);
    }

    /** An interrupted virtual thread; the interrupt status stays set, as {@code java.net.Socket} expects. */
    static InterruptedIOException interrupted() {
        return new InterruptedIOException("Closed by interrupt");
    }

    /** The same, of a writer that has done so many bytes. */
    static InterruptedIOException interrupted(int done) {
        InterruptedIOException interrupted = interrupted();
        interrupted.bytesTransferred = done;
        return interrupted;
    }

    /** A host name that could not be resolved. */
    public static UnknownHostException unresolved(InetSocketAddress address) {
        return new UnknownHostException(address.getHostString());
    }

    /** A connect that no server takes. */
    public static IOException refused(String why) {
        return new ConnectException("Connection refused: " + why);
    }

    /** A connect whose deadline has passed. */
    public static IOException connectTimedOut() {
        return new SocketTimeoutException("Connect timed out");
    }

    /** An error of taking a local address or listening on it. */
    static IOException bindFailed(InetSocketAddress local, VerbsException e) {
        return switch (e.errno()) {
            case EADDRINUSE -> with(new BindException("Address already in use: "
                    + (local.getPort() == 0 && !e.remedy().isEmpty() ? e.remedy() : local)), e);
            case ENODEV, EADDRNOTAVAIL, ENXIO ->
                with(new BindException("Cannot assign requested address: no RDMA device has " + local), e);
            case EACCES, EPERM -> with(new BindException("Permission denied: " + local), e);
            case EMFILE, ENFILE -> tooManyFiles(e.errno(), local, e);
            case EAFNOSUPPORT -> with(Routes.noFamily(), e);
            default -> other(e);
        };
    }

    /** An error of a step of connecting. */
    static IOException connectFailed(InetSocketAddress remote, VerbsException e) {
        if (e.errno() == Errno.EMFILE || e.errno() == Errno.ENFILE) {
            return tooManyFiles(e.errno(), remote, e);
        }
        // The text gives the reason of a refusal only; of other errors the cause tells more.
        boolean told = e.errno() == Errno.ECONNREFUSED && !e.remedy().isEmpty();
        IOException refused = connectFailed(told ? remote + ": " + e.remedy() : remote.toString(), e.errno());
        return refused == null ? other(e) : with(refused, e);
    }

    /** Marks a failure that says nothing of the next attempt, even at once, and adds what a person can do about it. */
    static <T extends IOException> T notNow(T failure, InetSocketAddress remote, String remedy) {
        return with(failure, new VerbsException("rdma_connect", Errno.EAGAIN.number(), "remote=" + remote, remedy));
    }

    /** In the words of the JDK, and then what to do. */
    private static SocketException tooManyFiles(Errno errno, InetSocketAddress address, VerbsException e) {
        return with(new SocketException("Too many open files" + (errno == Errno.ENFILE ? " in system" : "") + ": "
                + address + ": " + errno.remedy()), e);
    }

    /** An error of connecting by its number, null when it has no {@code java.net} counterpart. */
    private static IOException connectFailed(String remote, Errno errno) {
        return switch (errno) {
            case ECONNREFUSED, ECONNRESET -> new ConnectException("Connection refused: " + remote);
            case ETIMEDOUT -> new ConnectException("Connection timed out: " + remote);
            case ENETUNREACH, ENETDOWN -> new ConnectException("Network is unreachable: " + remote);
            case EHOSTUNREACH, EHOSTDOWN -> new NoRouteToHostException("No route to host: " + remote);
            case ENODEV, EADDRNOTAVAIL, ENXIO -> noDevice(remote);
            case EAFNOSUPPORT -> Routes.noFamily();
            case EADDRINUSE -> new BindException("Address already in use, by another connection to " + remote);
            default -> null;
        };
    }

    /** A local address that no device has that may be used. */
    static IOException noSuchLocal(String why) {
        return new BindException("Cannot assign requested address: " + why);
    }

    /** An address that is of another version than the one it is to be reached from. */
    static IOException otherFamily(InetAddress to) {
        return to instanceof Inet6Address ? new SocketException("Address family not supported by protocol")
                : new ConnectException("Network is unreachable");
    }

    /** A read whose deadline has passed. */
    static IOException readTimedOut() {
        return new SocketTimeoutException("Read timed out");
    }

    /** A device leads there, which may not be used. */
    static IOException notReached(InetSocketAddress remote, String why) {
        return new NoRouteToHostException(remote + " is not reached: " + why);
    }

    static IOException noDevice(Object remote) {
        return new NoRouteToHostException("No RDMA device leads to " + remote
                + "; use the address of an RDMA interface ('rdma link' shows which there are)");
    }

    /** Any other error keeps the text of verbs, which names the call and the remedy. */
    static SocketException other(VerbsException e) {
        return with(new SocketException(e.getMessage()), e);
    }

    private static <T extends Throwable> T with(T exception, Throwable cause) {
        exception.initCause(cause);
        return exception;
    }
}
