/**
 * The parts of Linux that the providers need besides RDMA, as objects that cannot be misused: sets of descriptors to
 * wait for, and for links between processes sealed memory, mappings and packet sockets.
 *
 * <ul>
 * <li>{@code NativeFunction} is the one way to call C, also for {@code ibverbs} off the data path, and the only user
 *     of the {@code Linker} here; every failure names function, errno, arguments and remedy. {@code Posix} lists the
 *     functions of this package. {@code SharedMemoryAvailability} says why they cannot be used, before a call.
 * <li>{@code Guard} makes use after free impossible: a thread that touches a native object has entered it, and the last
 *     to leave a closed one frees it. So neither a descriptor number nor an address range is ever used for its next
 *     owner.
 * <li>{@code Mappings} keeps a budget, so that the JVM never lacks mappings. An unmapped range is private memory for a
 *     while, so that an access that comes too late does no harm. {@code SealedMemory} is the only kind that is mapped:
 *     nothing another process does to it makes an access fault.
 * <li>{@code SocketDirectory} keeps the names of packet sockets where no other user can take one, {@code UserNamespace}
 *     says what user numbers mean, and {@code Closer} closes descriptors that a peer has had a hand in, on threads of
 *     its own.
 * </ul>
 *
 * <p>Threads: any thread may enter anywhere. Only {@code EpollWait.await} waits, and {@code SocketDirectory.listen} for
 * about a second at most; only {@code Closer} starts threads. The package knows nothing of links, and nothing of verbs
 * but their exception. Source: the manual pages memfd_create(2), fcntl(2), mmap(2), unix(7), cmsg(3), epoll(7),
 * eventfd(2).
 */
package org.rdmasockets.internal.ffi;
