package org.rdmasockets.internal.rpc.call;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The members that a server has room for, by the address that they come from, so that none of these takes all. A member
 * is a newcomer until it has shown that it is honest; where there is no room, the oldest newcomer leaves. For one
 * thread at a time.
 *
 * @param <T> members, told apart by identity
 */
public final class Shares<T> {
    /** The bytes of an IPv6 address that name a network, all of which may be one peer's. */
    private static final int NETWORK_BYTES = 8;

    private static final Object LOOPBACK = InetAddress.getLoopbackAddress();

    private final int most;
    private final int mostNewcomers;
    private final Map<Object, AddressPart<T>> parts = new HashMap<>();
    /** Oldest first. */
    private final LinkedHashSet<T> newcomers = new LinkedHashSet<>();
    private int count;

    /** The part of an address. */
    public static final class AddressPart<T> {
        private final Object address;
        /** Written by the thread that uses the shares. */
        private volatile int count;
        private final LinkedHashSet<T> newcomers = new LinkedHashSet<>();
        /** Calls that have a place, by any thread. */
        final AtomicInteger calls = new AtomicInteger();
        /** Bytes of unread requests and untaken answers, by any thread. */
        final AtomicLong held = new AtomicLong();

        private AddressPart(Object address) {
            this.address = address;
        }

        /** Whether it has no member, and is kept for its calls only. */
        boolean isEmpty() {
            return count == 0;
        }
    }

    /** For so many members, of which so many may be newcomers. */
    public Shares(int most, int mostNewcomers) {
        this.most = most;
        this.mostNewcomers = mostNewcomers;
    }

    /** The most that one address has of so many: three quarters, rounded up. */
    public static int of(int all) {
        return all - all / 4;
    }

    /**
     * An address as this counts it: of IPv6 the network, and all of loopback as one, since a local program may have any
     * of 16 million.
     */
    public static Object address(InetSocketAddress from) {
        InetAddress host = from.getAddress();
        if (host.isLoopbackAddress()) {
            return LOOPBACK;
        }
        byte[] bytes = host.getAddress();
        return bytes.length < NETWORK_BYTES ? host : ByteBuffer.wrap(bytes, 0, NETWORK_BYTES);
    }

    /** The newcomer that has to leave before one more of an address comes; null if none has to, or can. */
    public T excess(Object address) {
        AddressPart<T> part = parts.get(address);
        if (part != null && part.count >= of(most)) {
            return part.newcomers.isEmpty() ? null : part.newcomers.getFirst(); // another's would leave in vain
        }
        if (part != null && part.newcomers.size() >= of(mostNewcomers)) {
            return part.newcomers.getFirst();
        }
        boolean full = count >= most || newcomers.size() >= mostNewcomers;
        return full && !newcomers.isEmpty() ? newcomers.getFirst() : null;
    }

    /** Whether one more of an address has room. */
    public boolean hasRoom(Object address) {
        AddressPart<T> part = parts.get(address);
        return count < most && (part == null || part.count < of(most));
    }

    /** Adds a newcomer to the part of its address, which this gives: {@link #remove} has to follow. */
    public AddressPart<T> add(Object address, T newcomer) {
        AddressPart<T> part = parts.computeIfAbsent(address, AddressPart::new);
        boolean added = false;
        try {
            part.newcomers.add(newcomer);
            newcomers.add(newcomer);
            part.count++;
            count++;
            added = true;
        } finally {
            if (!added) {
                known(part, newcomer);
                purge(part);
            }
        }
        return part;
    }

    /** A member is no newcomer any more. */
    public void known(AddressPart<T> part, T member) {
        part.newcomers.remove(member);
        newcomers.remove(member);
    }

    /** A member has left; once for each. */
    public void remove(AddressPart<T> part, T member) {
        known(part, member);
        part.count--;
        count--;
        purge(part);
    }

    /** Forgets a part that is of no use; looks at its calls after its members: pairs with the end of a call. */
    void purge(AddressPart<T> part) {
        if (part.isEmpty() && part.calls.get() == 0) {
            parts.remove(part.address, part);
        }
    }
}
