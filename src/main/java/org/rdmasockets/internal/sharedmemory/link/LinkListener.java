package org.rdmasockets.internal.sharedmemory.link;

import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.ffi.Epoll;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.SocketDirectory;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.VerbsException;

/** A name under which other processes of this host find this one. */
public final class LinkListener extends Source implements AutoCloseable {
    private static final Log LOG = new Log(LinkListener.class);
    /** As many as the kernel allows ({@code net.core.somaxconn} cuts it). */
    private static final int BACKLOG = 4096;
    /** Most connections taken at once, so that a peer that floods the name does not hold up others. */
    private static final int BATCH = 64;
    /**
     * After so many connections that were refused, or are of other users, the rest wait in the backlog for a while: so
     * a flood costs little.
     */
    private static final int MOST_OTHERS = 64;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final InetSocketAddress address;
    private final SocketDirectory.Named named;
    /** Whether the name was given up: it may be another listener's by now. */
    private final AtomicBoolean closed = new AtomicBoolean();
    /** Since the last pause; by the thread that drains the hub. */
    private int others;
    private volatile boolean pausing;

    private LinkListener(LinkHub hub, InetSocketAddress address, SocketDirectory.Named named) {
        super(hub, named.socket());
        this.address = address;
        this.named = named;
    }

    /** Takes a name and lets the hub watch it. */
    static LinkListener open(LinkHub hub, InetSocketAddress address, boolean datagrams) throws VerbsException {
        StackRoom.ensureSection(); // as close
        SocketDirectory.Named named = SocketDirectory.own().listen(name(address, datagrams), BACKLOG);
        LinkListener listener = null;
        try {
            listener = new LinkListener(hub, address, named);
            if (hub.policy.spansNetworks() && address.getAddress().isAnyLocalAddress()) {
                tellAddresses();
            }
            hub.watch(listener);
            return listener;
        } catch (Throwable e) {
            if (listener != null) {
                listener.close();
            } else {
                named.close();
            }
            throw e;
        }
    }

    /** Lets processes of other network namespaces know which addresses lead to a listener at all of them. */
    private static void tellAddresses() {
        try {
            SocketDirectory.own().tellAddresses(NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                    .map(address -> host(new InetSocketAddress(address, 0))).collect(Collectors.toSet()));
        } catch (SocketException e) {
            LOG.debug("the addresses of this host are not known: {}", e.getMessage());
        }
    }

    /**
     * The name of an address in {@code SocketDirectory}: {@code <address or *>-<port>}, and {@code -udp} for datagrams,
     * whose ports are their own. All wildcards are one.
     */
    static String name(InetSocketAddress address, boolean datagrams) {
        if (address.getAddress().isAnyLocalAddress()) {
            return wildcard(address, datagrams);
        }
        return name(host(address), address.getPort(), datagrams);
    }

    /** An address as names have it, without a scope. */
    static String host(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        int scope = host.indexOf('%');
        return scope < 0 ? host : host.substring(0, scope);
    }

    /** The name of the wildcard with the same port. */
    static String wildcard(InetSocketAddress address, boolean datagrams) {
        return name("*", address.getPort(), datagrams);
    }

    private static String name(String host, int port, boolean datagrams) {
        return host + "-" + port + (datagrams ? "-udp" : "");
    }

    /** Does nothing: that cost one connection at most, and the kernel tells of the next ones all the same. */
    @Override
    void failed() {}

    @Override
    void finish() {
        close();
    }

    /** The address or wildcard that was taken, and the port. */
    public InetSocketAddress address() {
        return address;
    }

    /** Accepts connections that wait. */
    @Override
    void ready(PacketBuffer buffer) {
        for (int i = 0; i < BATCH && hub.hasRoom(); i++) {
            PacketSocket accepted = acceptOne();
            if (accepted == null) {
                return;
            }
            if (!hub.welcome(accepted) && ++others >= MOST_OTHERS && !pausing) {
                others = 0;
                lookAway();
                return;
            }
        }
    }

    /** Stops looking for a while: a thread of its own then tries to look again until it can. */
    private void lookAway() {
        boolean starts = false;
        try {
            Thread looks = LibraryThreads.unstarted("rdma-pause", this::pause);
            pausing = true;
            watchFor(0);
            looks.start();
            starts = true;
        } finally {
            if (!starts) { // it goes on without a pause
                pausing = false;
                watchFor(Epoll.READABLE);
            }
        }
    }

    private void pause() {
        LockSupport.parkNanos(PAUSE_NANOS);
        pausing = false; // before it looks: what it finds may ask for the next one
        while (!watchFor(Epoll.READABLE) && !closed.get()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean watchFor(int interest) {
        try {
            hub.watchFor(this, interest);
            return true;
        } catch (VerbsException | Error e) {
            return false; // no memory now, or this is closed
        }
    }

    private PacketSocket acceptOne() {
        if (!socket.enter()) {
            return null;
        }
        try {
            return socket.accept();
        } catch (VerbsException e) {
            if (!hub.refuseOne(socket, e) && !pausing) { // the socket would stay ready
                lookAway();
            }
            return null;
        } finally {
            socket.leave();
        }
    }

    /** Gives the name up at once; links that came through it stay. */
    @Override
    public void close() {
        StackRoom.ensureSection(); // a socket that is watched, and is no source, is ready for ever
        // Once: the number may be another socket's by now.
        if (closed.compareAndSet(false, true)) {
            try {
                hub.forget(this);
            } finally {
                try {
                    named.close();
                } finally {
                    hub.nameGivenUp();
                }
            }
        }
    }
}
