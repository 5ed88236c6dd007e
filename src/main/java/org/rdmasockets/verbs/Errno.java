package org.rdmasockets.verbs;

/** The error numbers of Linux ({@code errno.h}) that verbs and connection management report, by name. */
public enum Errno {
    /** No error. */
    OK(0),
    /** Operation not permitted. */
    EPERM(1),
    /** No such file or directory. */
    ENOENT(2),
    /** Interrupted system call. */
    EINTR(4),
    /** Input or output error. */
    EIO(5),
    /** No such device or address. */
    ENXIO(6),
    /** Bad file descriptor. */
    EBADF(9),
    /** Try again: nothing is there now. */
    EAGAIN(11),
    /** Out of memory, or over a limit on locked memory. */
    ENOMEM(12),
    /** Permission denied. */
    EACCES(13),
    /** Bad address. */
    EFAULT(14),
    /** Device or resource busy. */
    EBUSY(16),
    /** No such device. */
    ENODEV(19),
    /** Invalid argument. */
    EINVAL(22),
    /** Too many open files in the system. */
    ENFILE(23),
    /** Too many open files. */
    EMFILE(24),
    /** No space left. */
    ENOSPC(28),
    /** Broken pipe. */
    EPIPE(32),
    /** Value out of range. */
    ERANGE(34),
    /** Function not implemented. */
    ENOSYS(38),
    /** No data available. */
    ENODATA(61),
    /** Protocol error. */
    EPROTO(71),
    /** Protocol not supported: the kernel does not know the request. */
    EPROTONOSUPPORT(93),
    /** Operation not supported. */
    EOPNOTSUPP(95),
    /** Address already in use. */
    EADDRINUSE(98),
    /** The address is none of this host's. */
    EADDRNOTAVAIL(99),
    /** The network is down. */
    ENETDOWN(100),
    /** The network is unreachable. */
    ENETUNREACH(101),
    /** The connection was aborted. */
    ECONNABORTED(103),
    /** The connection was reset by the peer. */
    ECONNRESET(104),
    /** No buffer space available. */
    ENOBUFS(105),
    /** Already connected. */
    EISCONN(106),
    /** Not connected. */
    ENOTCONN(107),
    /** The endpoint was shut down. */
    ESHUTDOWN(108),
    /** Timed out. */
    ETIMEDOUT(110),
    /** The connection was refused. */
    ECONNREFUSED(111),
    /** The host is down. */
    EHOSTDOWN(112),
    /** No route to the host. */
    EHOSTUNREACH(113),
    /** Already in progress. */
    EALREADY(114),
    /** A number that has no name here; the exception carries it. */
    UNKNOWN(-1);

    private final int number;

    Errno(int number) {
        this.number = number;
    }

    /**
     * The number as in {@code errno.h}.
     *
     * @return the number, or -1 for {@link #UNKNOWN}
     */
    public int number() {
        return number;
    }

    /**
     * Finds the name of an error number.
     *
     * @param number an error number; its sign does not matter, because kernel events carry it negated
     * @return the name, or {@link #UNKNOWN}
     */
    public static Errno of(int number) {
        int wanted = Math.abs(number);
        for (Errno errno : values()) {
            if (errno.number == wanted) {
                return errno;
            }
        }
        return UNKNOWN;
    }

    /**
     * Whose fault it is, mostly: what a number means depends on the call.
     *
     * @return the class, {@link ErrorClass#NONE} for {@link #OK}
     */
    public ErrorClass errorClass() {
        return switch (this) {
            case OK -> ErrorClass.NONE;
            case EAGAIN, ENOMEM, EBUSY, ENFILE, EMFILE, ENOSPC, ENOBUFS, EADDRINUSE, EINTR -> ErrorClass.LOCAL_RESOURCE;
            case EPERM, ENOENT, EBADF, EACCES, EFAULT, EINVAL, ERANGE, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP,
                    EADDRNOTAVAIL, EISCONN, ENOTCONN, ESHUTDOWN, EALREADY -> ErrorClass.LOCAL_PROGRAMMING;
            case ECONNREFUSED, EPROTO -> ErrorClass.REMOTE;
            case EPIPE, ENETDOWN, ENETUNREACH, ECONNABORTED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH ->
                    ErrorClass.TRANSPORT;
            case ETIMEDOUT -> ErrorClass.TIMEOUT;
            case EIO, ENXIO, ENODEV -> ErrorClass.FATAL;
            case ENODATA, UNKNOWN -> ErrorClass.UNKNOWN;
        };
    }
}
