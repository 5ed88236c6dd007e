package org.rdmasockets.provider.sharedmemory;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmasockets.provider.sharedmemory.link.LinkListener;
import org.rdmasockets.provider.sharedmemory.link.NumberTable;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Who holds which address and port in this process. Listeners and whoever asked for a port hold it alone; a connection
 * whose port was chosen for it only keeps others from being given the same.
 */
final class PortTable {
    private static final int FIRST = 32768;
    private static final int COUNT = 60999 - FIRST + 1;

    /** An address and port that somebody holds. */
    static final class Claim {
        private final InetSocketAddress address;
        /** Whether only one may hold it; guarded by the table. */
        private boolean exclusive = true;
        /** Who listens there, or null; guarded by the table. */
        private SharedMemoryIdentifier listener;
        /** The name by which other processes find this one, or null; guarded by the table. */
        private LinkListener name;
        /** Another of the same port, or null; guarded by the table. */
        private Claim next;

        private Claim(InetSocketAddress address) {
            this.address = address;
        }

        /** What is held. */
        InetSocketAddress address() {
            return address;
        }

        private boolean conflicts(InetAddress other) {
            return exclusive && (address.getAddress().equals(other) || address.getAddress().isAnyLocalAddress()
                    || other.isAnyLocalAddress());
        }
    }

    private final SharedMemoryFabric fabric;
    /** The first of each port, which leads to the others; guarded by this. */
    private final NumberTable<Claim> claims = new NumberTable<>();
    /** Where the search for a free port goes on; guarded by this. */
    private int next = ThreadLocalRandom.current().nextInt(COUNT);

    /** A table without claims. */
    PortTable(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    /**
     * Takes an address and port alone, among all processes of this user.
     *
     * @param wanted address or wildcard, and port, 0 for a free one
     * @return the claim
     * @throws VerbsException {@link Errno#EADDRINUSE} if it is taken, or no port is free
     */
    Claim claim(InetSocketAddress wanted) throws VerbsException {
        while (true) {
            Claim claim = claimHere(wanted);
            if (claim == null) {
                throw new VerbsException("rdma_bind_addr", Errno.EADDRINUSE.number(), "address="
                        + Refusals.text(wanted), "the port is taken by another listener over shared memory; take "
                        + "another port");
            }
            boolean named = false;
            try {
                named = name(claim, wanted.getPort() == 0);
                if (named) {
                    return claim;
                }
            } finally {
                if (!named) {
                    release(claim);
                }
            }
        }
    }

    /** Takes the name for other processes; false if that is taken and another port will do. */
    private boolean name(Claim claim, boolean anyPort) throws VerbsException {
        try {
            LinkListener name = fabric.links().hub().listen(claim.address);
            synchronized (this) {
                claim.name = name;
            }
            return true;
        } catch (VerbsException e) {
            if (anyPort && e.errno() == Errno.EADDRINUSE) {
                return false;
            }
            throw e;
        }
    }

    private synchronized Claim claimHere(InetSocketAddress wanted) {
        int port = wanted.getPort() == 0 ? freePort() : wanted.getPort();
        boolean taken = false;
        for (Claim other = claims.get(port); other != null; other = other.next) {
            taken |= other.conflicts(wanted.getAddress());
        }
        if (port == 0 || taken) {
            return null;
        }
        Claim claim = new Claim(new InetSocketAddress(wanted.getAddress(), port));
        claim.next = claims.put(port, claim);
        return claim;
    }

    /** A port that nobody holds, or 0. */
    private int freePort() {
        for (int i = 0; i < COUNT; i++) {
            int port = FIRST + next;
            next = (next + 1) % COUNT;
            if (claims.get(port) == null) {
                return port;
            }
        }
        return 0;
    }

    /** Lets others hold the same address and port: it was chosen for a connection, which does not mind. */
    void share(Claim claim) {
        closeName(claim);
        synchronized (this) {
            claim.exclusive = false;
        }
    }

    private void closeName(Claim claim) {
        LinkListener name;
        synchronized (this) {
            name = claim.name;
            claim.name = null;
        }
        if (name != null) {
            name.close();
        }
    }

    /** Says who listens at a claim. */
    synchronized void listen(Claim claim, SharedMemoryIdentifier listener) {
        claim.listener = listener;
    }

    /** Gives a claim back. */
    void release(Claim claim) {
        closeName(claim);
        forget(claim);
    }

    private synchronized void forget(Claim claim) {
        int port = claim.address.getPort();
        Claim before = claims.get(port);
        if (before != claim) {
            while (before.next != claim) {
                before = before.next;
            }
            before.next = claim.next;
        } else if (claim.next == null) {
            claims.remove(port);
        } else {
            claims.put(port, claim.next);
        }
    }

    /**
     * Finds who listens at an address: at exactly that one, else at the wildcard. That of IPv4 takes IPv4 only.
     *
     * @param destination an address and port
     * @return the listener, or null
     */
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
