package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Set;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.internal.sharedmemory.link.OwnMemory;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.internal.sharedmemory.link.SharedRegion;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * A memory region. Copies of this process enter it first, so that {@link #close} can wait for them: after that nothing
 * here touches the memory.
 */
final class SharedMemoryRegion implements MemoryRegion, ReachableMemory {
    /** Set in {@link #users} once the region is closed. */
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final VarHandle USERS = VarHandles.of(MethodHandles.lookup(), "users", int.class);

    final SharedMemoryProtectionDomain domain;
    private final MemorySegment memory;
    private final Set<AccessFlag> access;
    /** Where the memory is from, or null. */
    private final OwnMemory source;
    /** The key, local and remote; set before publication. */
    int key;
    /** Number of accesses in progress, and {@link #CLOSED}. */
    private volatile int users;

    /** A region without a key; the source of the memory is null if no other process can reach it. */
    SharedMemoryRegion(SharedMemoryProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access,
            OwnMemory source) {
        this.domain = domain;
        this.memory = memory;
        this.access = access;
        this.source = source;
    }

    /** The memory that any process can be given access to; null if it cannot. */
    SharedRegion shared() {
        return source instanceof SharedRegion shared ? shared : null;
    }

    /** Whether other processes may reach this: never what was registered. */
    boolean isAllocated() {
        return source != null;
    }

    /** Begins an access by a queue pair of a domain, as {@link #tryEnter()}; false also if that is not allowed. */
    boolean tryEnter(SharedMemoryProtectionDomain of, long first, long length, AccessFlag needed) {
        long offset = first - memory.address(); // the numbers may be any
        return domain == of && access.contains(needed) && offset >= 0 && length >= 0
                && offset <= memory.byteSize() - length && tryEnter();
    }

    /** Begins an access; false if this is closed: then {@link #leave} must not be called. */
    boolean tryEnter() {
        while (true) {
            int now = users;
            if (now < 0) {
                return false;
            }
            if (USERS.compareAndSet(this, now, now + 1)) {
                return true;
            }
        }
    }

    @Override
    public void leave() {
        int before = (int) USERS.getAndAdd(this, -1);
        if (before == CLOSED + 1) {
            synchronized (this) {
                notifyAll();
            }
        }
    }

    @Override
    public MemorySegment segment() {
        return memory;
    }

    @Override
    public long address() {
        return memory.address();
    }

    @Override
    public long lengthBytes() {
        return memory.byteSize();
    }

    /**
     * Never the remote key, so that a program that mixes the two up fails here, and not first on a device that differs.
     */
    @Override
    public int localKey() {
        return ~key;
    }

    @Override
    public int remoteKey() {
        return key;
    }

    @Override
    public Set<AccessFlag> access() {
        return access;
    }

    @Override
    public void close() {
        if ((int) USERS.getAndBitwiseOr(this, CLOSED) < 0) {
            return;
        }
        try {
            domain.forget(this);
        } finally {
            awaitUsers();
            if (source != null) {
                source.close();
            }
        }
    }

    /** Waits for copies in progress, which never wait for anything; an interrupt is kept for the caller. */
    private synchronized void awaitUsers() {
        boolean interrupted = false;
        while (users != CLOSED) {
            interrupted |= LibraryThreads.awaitNotify(this);
        }
        LibraryThreads.restore(interrupted);
    }
}
