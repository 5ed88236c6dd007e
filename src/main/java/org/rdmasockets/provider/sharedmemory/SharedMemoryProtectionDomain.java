package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/** A protection domain: an identity that regions and queue pairs have in common. */
final class SharedMemoryProtectionDomain implements ProtectionDomain {
    private static final long PAGE_BYTES = 4096;

    private final SharedMemoryDevice device;
    private volatile boolean closed;

    /** A domain without regions. */
    SharedMemoryProtectionDomain(SharedMemoryDevice device) {
        this.device = device;
    }

    /** Whether close was called: no more children. */
    boolean isClosed() {
        return closed;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory of at least one byte can be registered, not "
                    + memory);
        }
        return take(memory, access, () -> { });
    }

    @Override
    public MemoryRegion allocate(long bytes, Set<AccessFlag> access) throws VerbsException {
        if (bytes < 1) {
            throw new IllegalArgumentException("at least one byte can be allocated, not " + bytes);
        }
        long pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        if (pages < bytes || pages > SharedMemoryDevice.MAX_REGION_BYTES) {
            throw new VerbsException("ibv_reg_mr", Errno.ENOMEM.number(), "lengthBytes=" + bytes, "at most "
                    + SharedMemoryDevice.MAX_REGION_BYTES + " bytes");
        }
        try {
            // Only this process touches it, through checked segments: the collector may free it.
            return take(Arena.ofAuto().allocate(pages, PAGE_BYTES), access, () -> { });
        } catch (OutOfMemoryError e) {
            throw new VerbsException("malloc", Errno.ENOMEM.number(), "lengthBytes=" + bytes, e.getMessage());
        }
    }

    private SharedMemoryRegion take(MemorySegment memory, Set<AccessFlag> access, Runnable afterwards)
            throws VerbsException {
        Objects.requireNonNull(access);
        String text = "lengthBytes=" + memory.byteSize() + ", access=" + access;
        if (closed) {
            throw Refusals.closed("ibv_reg_mr", "protection domain");
        }
        boolean changes = access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
        if (changes && !access.contains(AccessFlag.LOCAL_WRITE)) {
            throw Refusals.invalid("ibv_reg_mr", text, "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
        }
        SharedMemoryRegion region = new SharedMemoryRegion(this, memory, Set.copyOf(access), afterwards);
        if (!device.fabric().regions().add(region)) {
            throw new VerbsException("ibv_reg_mr", Errno.ENOMEM.number(), text, "there are "
                    + SharedMemoryDevice.MAX_REGIONS + " memory regions already: close some");
        }
        return region;
    }

    /** Forgets a region that closes. */
    void forget(SharedMemoryRegion region) {
        device.fabric().regions().remove(region);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config) throws VerbsException {
        throw new VerbsException("ibv_create_qp", Errno.EOPNOTSUPP.number(), "device=" + device,
                "this device's queue pairs are connected by its connection manager (Capability.MANUAL_CONNECT)");
    }

    @Override
    public void close() {
        closed = true;
    }
}
