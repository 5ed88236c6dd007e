package org.rdmasockets.internal.sharedmemory;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmasockets.internal.sharedmemory.link.LinkHub;
import org.rdmasockets.internal.sharedmemory.link.LinkListener;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The holders of addresses and ports in this process. A listener, or a caller that asked for a port, holds it alone.
 * No other connection on this host has the port of a connection: a lock ensures that among the processes of this user,
 * and the kernel does not choose such ports for TCP. A port that was chosen for a connection stays free for listeners.
 */
final class PortTable {
    private static final Path KERNELS_RANGE = Path.of("/proc/sys/net/ipv4/ip_local_port_range");
    /** The first port to choose: servers like lower ones. */
    private static final int FIRST = 10_000;
    private static final int LAST = 65_535;
    /** With fewer ports than this, those that TCP may have are used, too. */
    private static final int ENOUGH = 1_000;

    /** An address and port that are held. */
    static final class Claim {
        final InetSocketAddress address;
        /** An object, so that giving it back needs no memory. */
        private final Integer port;
        /** Whether only one may hold it; guarded by the table. */
        private boolean exclusive = true;
        /** Whether it is a connection's; guarded by the table. */
        private boolean connected;
        /** Whether it was given back; guarded by the table. */
        private boolean released;
        /** Whether it holds the port among processes; guarded by the table. */
        private boolean locked;
        /** The listener there, or null; guarded by the table. */
        private SharedMemoryIdentifier listener;
        /** The name by which other processes find this one, or null; guarded by the table. */
        private LinkListener name;
        /** Another claim of the same port, or null; guarded by the table. */
        private Claim next;

        private Claim(InetSocketAddress address) {
            this.address = address;
            port = address.getPort();
        }

        private boolean overlaps(InetAddress other) {
            return address.getAddress().equals(other) || address.getAddress().isAnyLocalAddress()
                    || other.isAnyLocalAddress();
        }
    }

    private final SharedMemoryFabric fabric;
    /** The first claim of each port, which leads to the others; guarded by this. */
    private final Map<Integer, Claim> claims = new HashMap<>();
    /** The ports that the kernel chooses for TCP, the first and the last; null until needed; guarded by this. */
    private int[] kernels;
    /** Where the search for a free port goes on, 0 until there was one; guarded by this. */
    private int next;

    PortTable(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    /**
     * Takes an address or wildcard and a port, 0 for a free one, alone, among all processes of this user. For a port
     * that was chosen, {@link #name} follows if the caller is going to listen there. Throws {@link Errno#EADDRINUSE} if
     * it is taken, or no port is free.
     */
    Claim claim(InetSocketAddress wanted) throws VerbsException {
        fabric.links.hub(); // throws the reason if there is no shared memory here
        Claim claim = claimHere(wanted);
        if (claim == null) {
            throw taken("rdma_bind_addr", wanted);
        }
        if (wanted.getPort() == 0) {
            return claim;
        }
        try {
            name(claim);
            return claim;
        } catch (Throwable e) {
            release(claim);
            throw e;
        }
    }

    private static VerbsException taken(String call, InetSocketAddress address) {
        return new VerbsException(call, Errno.EADDRINUSE.number(), "address=" + SharedMemoryErrors.text(address),
                address.getPort() != 0
                        ? "the port is taken by another listener or connection over shared memory; take another port"
                        : "no port from " + FIRST + " to " + LAST + " is free beside those that the kernel chooses; "
                                + "close some connections, or make net.ipv4.ip_local_port_range smaller");
    }

    /** Takes the name by which other processes find this one, unless the claim has it. */
    void name(Claim claim) throws VerbsException {
        synchronized (this) {
            if (claim.name != null) {
                return;
            }
        }
        LinkListener name = fabric.links.hub().listen(claim.address);
        synchronized (this) {
            if (!claim.released) {
                claim.name = name;
                return;
            }
        }
        name.close();
    }

    private synchronized Claim claimHere(InetSocketAddress wanted) {
        boolean chosen = wanted.getPort() == 0;
        int port = chosen ? freePort() : wanted.getPort();
        if (port == 0) {
            return null;
        }
        Claim claim = null;
        boolean held = chosen;
        try {
            claim = new Claim(new InetSocketAddress(wanted.getAddress(), port));
            claim.next = claims.get(claim.port);
            for (Claim other = claim.next; other != null; other = other.next) {
                if (other.exclusive && other.overlaps(wanted.getAddress())) {
                    return null;
                }
            }
            held = chosen || LinkHub.tryHold(port); // a listener does without, its name counts
            claim.locked = held;
            claims.put(claim.port, claim);
            return claim;
        } catch (Throwable e) {
            if (claim != null) {
                claims.remove(claim.port, claim); // it may be there, as the only one
            }
            if (held) {
                LinkHub.giveBack(port);
            }
            throw e;
        }
    }

    /** A port that is not held, now locked; 0 if there is none. */
    private int freePort() {
        if (kernels == null) {
            kernels = kernelsRange();
            next = randomPort();
        }
        for (int tries = 0; tries <= LAST; tries++) {
            int port = next;
            next = port == LAST ? FIRST : port + 1;
            if (port >= kernels[0] && port <= kernels[1]) {
                next = kernels[1] >= LAST ? FIRST : kernels[1] + 1;
            } else if (claims.get(port) == null) {
                if (LinkHub.tryHold(port)) {
                    return port;
                }
                next = randomPort(); // away from the other process's ports
            }
        }
        return 0;
    }

    /** A random port outside the kernel's range: so processes that start at once choose different ones. */
    private int randomPort() {
        return portOutside(kernels, ThreadLocalRandom.current().nextDouble());
    }

    /** A port outside a range, given by its first and last: how far along the others, from 0 to less than 1. */
    static int portOutside(int[] range, double part) {
        int first = Math.max(range[0], FIRST);
        int inside = Math.max(0, Math.min(range[1], LAST) - first + 1);
        int port = FIRST + (int) (part * (LAST - FIRST + 1 - inside));
        return port < first ? port : port + inside;
    }

    /** Empty if that leaves too few. */
    private static int[] kernelsRange() {
        try {
            StringTokenizer words = new StringTokenizer(LinkHub.readKernels(KERNELS_RANGE));
            int[] range = {Integer.parseInt(words.nextToken()), Integer.parseInt(words.nextToken())};
            int left = Math.max(0, range[0] - FIRST) + Math.max(0, LAST - range[1]);
            return left < ENOUGH ? new int[] {0, 0} : range;
        } catch (IOException | RuntimeException e) {
            return new int[] {0, 0};
        }
    }

    /**
     * Makes a claim without a listener a connection's. If the port was chosen for it, others may listen there. Throws
     * {@link Errno#EADDRINUSE} if another connection of this host has the port.
     */
    synchronized void connect(Claim claim, boolean chosen) throws VerbsException {
        boolean ours = false;
        boolean taken = false;
        for (Claim other = claims.get(claim.port); other != null; other = other.next) {
            ours |= other.locked;
            taken |= other != claim && other.connected && other.overlaps(claim.address.getAddress());
        }
        claim.locked |= !ours && !taken && LinkHub.tryHold(claim.address.getPort());
        if (taken || !ours && !claim.locked) {
            throw taken("rdma_resolve_addr", claim.address);
        }
        claim.connected = true;
        claim.exclusive = !chosen;
    }

    private void closeName(Claim claim) {
        LinkListener name;
        synchronized (this) {
            name = claim.name;
        }
        if (name != null) {
            name.close(); // before it is forgotten: an Error leaves it to the next release
        }
        synchronized (this) {
            claim.name = claim.name == name ? null : claim.name;
        }
    }

    /** Sets the listener at a claim. */
    synchronized void listen(Claim claim, SharedMemoryIdentifier listener) {
        claim.listener = listener;
    }

    /** Gives a claim back. */
    void release(Claim claim) {
        closeName(claim);
        forget(claim);
        closeName(claim); // taken meanwhile
    }

    private synchronized void forget(Claim claim) {
        claim.released = true;
        Claim before = claims.get(claim.port);
        if (before != claim) {
            while (before.next != claim) {
                before = before.next;
            }
            before.next = claim.next;
        } else if (claim.next == null) {
            claims.remove(claim.port);
        } else {
            claims.put(claim.port, claim.next);
        }
        Claim left = claims.get(claim.port);
        if (claim.locked && left != null) {
            left.locked = true;
        } else if (claim.locked) {
            LinkHub.giveBack(claim.port);
        }
    }

    /** The listener at exactly this address, else at the wildcard; that of IPv4 takes IPv4 only. Or null. */
    synchronized SharedMemoryIdentifier listener(InetSocketAddress destination) {
        SharedMemoryIdentifier found = null;
        for (Claim claim = claims.get(destination.getPort()); claim != null; claim = claim.next) {
            if (claim.listener != null && claim.address.getAddress().equals(destination.getAddress())) {
                return claim.listener;
            }
            InetAddress own = claim.address.getAddress();
            if (claim.listener != null && own.isAnyLocalAddress()
                    && (own instanceof Inet6Address || destination.getAddress() instanceof Inet4Address)) {
                found = claim.listener;
            }
        }
        return found;
    }
}
