package org.rdmasockets.endpoint;

import java.util.Objects;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/**
 * Memory of the peer: where it is, how much, the key to it and what may be done with it. Immutable.
 *
 * @since 0.1
 */
public final class RemoteRegion {
    private final long address;
    private final long length;
    private final int key;
    private final Set<AccessFlag> access;
    /** The lease that lends it; null for none. */
    private final RemoteLease lease;

    /** Memory that a lease lends or, with null, that the application manages. */
    RemoteRegion(long address, long length, int key, Set<AccessFlag> access, RemoteLease lease) {
        this.address = address;
        this.length = length;
        this.key = key;
        this.access = Set.copyOf(access);
        this.lease = lease;
    }

    /**
     * Memory that the application has learned of by itself. This end does not watch how long it is there: an operation
     * on memory that the peer has closed breaks the connection.
     *
     * @param address where it is in the peer
     * @param length how many bytes, at least 1
     * @param remoteKey {@code rkey} there
     * @return the region, on which this end tries every operation
     * @throws IllegalArgumentException if the length is less than 1, or the memory wraps around
     */
    public static RemoteRegion of(long address, long length, int remoteKey) {
        if (length < 1 || Long.compareUnsigned(address + length - 1, address) < 0) {
            throw new IllegalArgumentException("no memory has " + length + " bytes from 0x"
                    + Long.toHexString(address) + " on");
        }
        return new RemoteRegion(address, length, remoteKey, Rights.REMOTE, null);
    }

    /**
     * A part of this.
     *
     * @param offset its first byte
     * @param size how many bytes, at least 1
     * @return the part, lent as long as this is
     * @throws IndexOutOfBoundsException if it is empty or not inside this
     */
    public RemoteRegion slice(long offset, long size) {
        LocalRegion.checkPart(offset, size, length);
        return new RemoteRegion(address + offset, size, key, access, lease);
    }

    /** {@return where it is: a virtual address of the peer} */
    public long address() {
        return address;
    }

    /** {@return how many bytes it has, at least 1} */
    public long length() {
        return length;
    }

    /** {@return {@code rkey}, the key to it} */
    public int remoteKey() {
        return key;
    }

    /** {@return the remote rights that the peer allows, as far as is known} */
    public Set<AccessFlag> access() {
        return access;
    }

    /** Refuses an operation that would break the connection. */
    void ensureAllows(AccessFlag right, EndpointProtocol by) throws EndpointException {
        if (lease != null) {
            lease.ensureOf(by);
            lease.ensureAlive();
        }
        if (!access.contains(right)) {
            throw new EndpointException(EndpointException.Reason.LEASE, "the peer does not allow " + right + " on "
                    + this);
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RemoteRegion that && address == that.address && length == that.length
                && key == that.key;
    }

    @Override
    public int hashCode() {
        return Objects.hash(address, length, key);
    }

    @Override
    public String toString() {
        return "RemoteRegion[0x" + Long.toHexString(address) + ", " + length + " bytes, key=0x"
                + Integer.toHexString(key) + ", " + access + "]";
    }
}
