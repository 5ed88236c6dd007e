package org.rdmasockets.verbs;

/**
 * The error numbers of Linux ({@code errno.h}) by name.
 *
 * @since 0.1
 */
public enum Errno {
    /** No error. */
    OK(0),
    /** Operation not permitted. */
    EPERM(1),
    /** No such file or directory. */
    ENOENT(2),
    /** No such process. */
    ESRCH(3),
    /** Interrupted system call. */
    EINTR(4),
    /** Input or output error. */
    EIO(5),
    /** No such device or address. */
    ENXIO(6),
    /** Argument list too long. */
    E2BIG(7),
    /** Exec format error. */
    ENOEXEC(8),
    /** Bad file descriptor. */
    EBADF(9),
    /** No child processes. */
    ECHILD(10),
    /** Try again: nothing is there now. */
    EAGAIN(11),
    /** Out of memory, or over a limit on locked memory. */
    ENOMEM(12),
    /** Permission denied. */
    EACCES(13),
    /** Bad address. */
    EFAULT(14),
    /** Block device required. */
    ENOTBLK(15),
    /** Device or resource busy. */
    EBUSY(16),
    /** File exists. */
    EEXIST(17),
    /** Invalid cross-device link. */
    EXDEV(18),
    /** No such device. */
    ENODEV(19),
    /** Not a directory. */
    ENOTDIR(20),
    /** Is a directory. */
    EISDIR(21),
    /** Invalid argument. */
    EINVAL(22),
    /** Too many open files in the system. */
    ENFILE(23),
    /** Too many open files. */
    EMFILE(24),
    /** Inappropriate ioctl for device. */
    ENOTTY(25),
    /** Text file busy. */
    ETXTBSY(26),
    /** File too large. */
    EFBIG(27),
    /** No space left. */
    ENOSPC(28),
    /** Illegal seek. */
    ESPIPE(29),
    /** Read-only file system. */
    EROFS(30),
    /** Too many links. */
    EMLINK(31),
    /** Broken pipe. */
    EPIPE(32),
    /** Numerical argument out of domain. */
    EDOM(33),
    /** Value out of range. */
    ERANGE(34),
    /** Taking this lock would wait for ever. */
    EDEADLK(35),
    /** File name too long. */
    ENAMETOOLONG(36),
    /** No locks available. */
    ENOLCK(37),
    /** Function not implemented. */
    ENOSYS(38),
    /** Directory not empty. */
    ENOTEMPTY(39),
    /** Too many levels of symbolic links. */
    ELOOP(40),
    /** No message of desired type. */
    ENOMSG(42),
    /** Identifier removed. */
    EIDRM(43),
    /** Channel number out of range. */
    ECHRNG(44),
    /** Level 2 not synchronized. */
    EL2NSYNC(45),
    /** Level 3 halted. */
    EL3HLT(46),
    /** Level 3 reset. */
    EL3RST(47),
    /** Link number out of range. */
    ELNRNG(48),
    /** Protocol driver not attached. */
    EUNATCH(49),
    /** No CSI structure available. */
    ENOCSI(50),
    /** Level 2 halted. */
    EL2HLT(51),
    /** Invalid exchange. */
    EBADE(52),
    /** Invalid request descriptor. */
    EBADR(53),
    /** Exchange full. */
    EXFULL(54),
    /** No anode. */
    ENOANO(55),
    /** Invalid request code. */
    EBADRQC(56),
    /** Invalid slot. */
    EBADSLT(57),
    /** Bad font file format. */
    EBFONT(59),
    /** Device not a stream. */
    ENOSTR(60),
    /** No data available. */
    ENODATA(61),
    /** Timer expired. */
    ETIME(62),
    /** Out of streams resources. */
    ENOSR(63),
    /** Machine is not on the network. */
    ENONET(64),
    /** Package not installed. */
    ENOPKG(65),
    /** Object is remote. */
    EREMOTE(66),
    /** Link has been severed. */
    ENOLINK(67),
    /** Advertise error. */
    EADV(68),
    /** Srmount error. */
    ESRMNT(69),
    /** Communication error on send. */
    ECOMM(70),
    /** Protocol error. */
    EPROTO(71),
    /** Multihop attempted. */
    EMULTIHOP(72),
    /** RFS specific error. */
    EDOTDOT(73),
    /** Bad message. */
    EBADMSG(74),
    /** Value too large for defined data type. */
    EOVERFLOW(75),
    /** Name not unique on network. */
    ENOTUNIQ(76),
    /** File descriptor in bad state. */
    EBADFD(77),
    /** Remote address changed. */
    EREMCHG(78),
    /** Can not access a needed shared library. */
    ELIBACC(79),
    /** Accessing a corrupted shared library. */
    ELIBBAD(80),
    /** .lib section in a.out corrupted. */
    ELIBSCN(81),
    /** Attempting to link in too many shared libraries. */
    ELIBMAX(82),
    /** Cannot exec a shared library directly. */
    ELIBEXEC(83),
    /** Invalid or incomplete multibyte or wide character. */
    EILSEQ(84),
    /** Interrupted system call should be restarted. */
    ERESTART(85),
    /** Streams pipe error. */
    ESTRPIPE(86),
    /** Too many users. */
    EUSERS(87),
    /** Socket operation on non-socket. */
    ENOTSOCK(88),
    /** Destination address required. */
    EDESTADDRREQ(89),
    /** Message too long. */
    EMSGSIZE(90),
    /** Protocol wrong type for socket. */
    EPROTOTYPE(91),
    /** Protocol not available. */
    ENOPROTOOPT(92),
    /** Protocol not supported: the kernel does not know the request. */
    EPROTONOSUPPORT(93),
    /** Socket type not supported. */
    ESOCKTNOSUPPORT(94),
    /** Operation not supported. */
    EOPNOTSUPP(95),
    /** Protocol family not supported. */
    EPFNOSUPPORT(96),
    /** Address family not supported by protocol. */
    EAFNOSUPPORT(97),
    /** Address already in use. */
    EADDRINUSE(98),
    /** The address is none of this host's. */
    EADDRNOTAVAIL(99),
    /** The network is down. */
    ENETDOWN(100),
    /** The network is unreachable. */
    ENETUNREACH(101),
    /** Network dropped connection on reset. */
    ENETRESET(102),
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
    /** Too many references: cannot splice. */
    ETOOMANYREFS(109),
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
    /** Operation now in progress. */
    EINPROGRESS(115),
    /** Stale file handle. */
    ESTALE(116),
    /** Structure needs cleaning. */
    EUCLEAN(117),
    /** Not a XENIX named type file. */
    ENOTNAM(118),
    /** No XENIX semaphores available. */
    ENAVAIL(119),
    /** Is a named type file. */
    EISNAM(120),
    /** Remote I/O error. */
    EREMOTEIO(121),
    /** Disk quota exceeded. */
    EDQUOT(122),
    /** No medium found. */
    ENOMEDIUM(123),
    /** Wrong medium type. */
    EMEDIUMTYPE(124),
    /** Operation canceled. */
    ECANCELED(125),
    /** Required key not available. */
    ENOKEY(126),
    /** Key has expired. */
    EKEYEXPIRED(127),
    /** Key has been revoked. */
    EKEYREVOKED(128),
    /** Key was rejected by service. */
    EKEYREJECTED(129),
    /** Owner died. */
    EOWNERDEAD(130),
    /** State not recoverable. */
    ENOTRECOVERABLE(131),
    /** Operation not possible due to RF-kill. */
    ERFKILL(132),
    /** A page of memory has a hardware error. */
    EHWPOISON(133),
    /** A number that has no name here; the exception carries it. */
    UNKNOWN(-1);

    private final int number;

    Errno(int number) {
        this.number = number;
    }

    /** {@return the number as in {@code errno.h}, or -1 for {@link #UNKNOWN}} */
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
     * {@return the usual cause of the error, {@link ErrorClass#NONE} for {@link #OK}: the meaning of a number depends
     * on the call}
     */
    public ErrorClass errorClass() {
        return switch (this) {
            case OK -> ErrorClass.NONE;
            case EAGAIN, ENOMEM, EBUSY, ENFILE, EMFILE, ENOSPC, ENOBUFS, EADDRINUSE, EINTR, EFBIG, EDQUOT, EMLINK,
                    ENOLCK, EUSERS, ETOOMANYREFS -> ErrorClass.LOCAL_RESOURCE;
            case EPERM, ENOENT, EBADF, EACCES, EFAULT, EINVAL, ERANGE, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP,
                    EADDRNOTAVAIL, EISCONN, ENOTCONN, ESHUTDOWN, EALREADY, E2BIG, ENOTTY, EDOM, EOVERFLOW, ENOTSOCK,
                    EDESTADDRREQ, EMSGSIZE, EPROTOTYPE, ENOPROTOOPT, ESOCKTNOSUPPORT, EPFNOSUPPORT, EAFNOSUPPORT,
                    EBADFD -> ErrorClass.LOCAL_PROGRAMMING;
            case ECONNREFUSED, EPROTO, EREMOTEIO, EBADMSG -> ErrorClass.REMOTE;
            case EPIPE, ENETDOWN, ENETUNREACH, ENETRESET, ECONNABORTED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH, ENONET,
                    ENOLINK, ECOMM -> ErrorClass.TRANSPORT;
            case ETIMEDOUT, ETIME -> ErrorClass.TIMEOUT;
            case EIO, ENXIO, ENODEV, EHWPOISON -> ErrorClass.FATAL;
            default -> ErrorClass.UNKNOWN;
        };
    }

    /** {@return the remedy for a person, a clause without a full stop, empty where that depends on the call} */
    public String remedy() {
        return switch (this) {
            case EMFILE -> "this process has too many open files: raise ulimit -n, or LimitNOFILE= of the systemd unit";
            case ENFILE -> "this system has too many open files: raise the sysctl fs.file-max";
            case EFBIG -> "the size of files is limited, which counts for shared memory, too: raise ulimit -f, or "
                    + "LimitFSIZE= of the systemd unit";
            case EDQUOT -> "this user has too many kernel keys or too much on disk: raise the quota";
            case ENOBUFS -> "the kernel has no room for more messages: it may have later";
            case ETOOMANYREFS -> "too many descriptors of this user are on their way in sockets: raise ulimit -n";
            case EAFNOSUPPORT -> "this process or its kernel has no addresses of that version: see the system property "
                    + "java.net.preferIPv4Stack, and the sysctl net.ipv6.conf.all.disable_ipv6";
            case ENETUNREACH, EHOSTUNREACH -> "no route leads to the address; a link-local one needs its scope";
            case ENETDOWN -> "the network interface is down: set it up (ip link set NAME up)";
            case EADDRNOTAVAIL -> "the address is none of this host's";
            default -> "";
        };
    }
}
