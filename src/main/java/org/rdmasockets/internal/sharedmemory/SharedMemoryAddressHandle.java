package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.ProtectionDomain;

/** The way to this host, which is the only one. */
final class SharedMemoryAddressHandle implements AddressHandle {
    private final SharedMemoryProtectionDomain domain;
    private volatile boolean closed;

    SharedMemoryAddressHandle(SharedMemoryProtectionDomain domain) {
        this.domain = domain;
    }

    /** Whether close was called. */
    boolean isClosed() {
        return closed;
    }

    @Override
    public ProtectionDomain domain() {
        return domain;
    }

    @Override
    public void close() {
        closed = true;
    }
}
