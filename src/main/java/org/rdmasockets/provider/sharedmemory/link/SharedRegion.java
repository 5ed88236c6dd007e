package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.provider.sharedmemory.os.SealedMemory;
import org.rdmasockets.verbs.VerbsException;

/**
 * Memory of this process that peers can be given access to: a sealed memfd of its own, mapped over a range of addresses
 * that is never unmapped. After {@link #close} there is harmless private memory at the range, and later another region.
 *
 * <p>The descriptor stays open as long as the region, because further peers may need it.
 */
public final class SharedRegion implements AutoCloseable {
    private final SealedMemory descriptor;
    private final RegionMemory memory;
    /** Links that know this region, mostly one; null once this is closed; guarded by this. */
    private List<Link> links = new ArrayList<>(0);
    /** By which they know it; guarded by this. */
    private int remoteKey;

    private SharedRegion(SealedMemory descriptor, RegionMemory memory) {
        this.descriptor = descriptor;
        this.memory = memory;
    }

    /**
     * Allocates memory.
     *
     * @param bytes at least 1
     * @return zeroed memory, which takes up room only where it is touched
     * @throws VerbsException {@code ENOMEM}, {@code EMFILE} and the like
     */
    static SharedRegion allocate(long bytes) throws VerbsException {
        if (bytes < 1 || bytes > Link.MOST_REGION_BYTES) {
            throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
        }
        long total = RegionMemory.totalBytes(bytes);
        SealedMemory descriptor = SealedMemory.create(total);
        try {
            RegionMemory memory = RegionMemory.in(SealedMemory.map(descriptor.descriptor(), total), bytes);
            memory.validate();
            return new SharedRegion(descriptor, memory);
        } catch (VerbsException e) {
            descriptor.close();
            throw e;
        }
    }

    /**
     * The memory, of exactly as many bytes as were asked for, aligned to a page.
     *
     * @return a segment of the global scope
     */
    public MemorySegment segment() {
        return memory.data();
    }

    /**
     * Begins an access: as long as it lasts, the memory is not given to anybody else. For copies by threads of this
     * process that do not otherwise know that the region stays open.
     *
     * @return false if the region is closed; then {@link #leave} must not be called
     */
    public boolean tryEnter() {
        return memory.enter();
    }

    /** Ends an access. */
    public void leave() {
        memory.leave();
    }

    /** The descriptor, for a link that announces the region. */
    SealedMemory descriptor() {
        return descriptor;
    }

    /** Notes that a link that did not know this region does now, by the key of all; false if this is closed. */
    synchronized boolean attach(Link link, int key) {
        remoteKey = key;
        return links != null && links.add(link);
    }

    /** Forgets a link that is dead. */
    synchronized void detach(Link link) {
        if (links != null) {
            links.remove(link);
        }
    }

    /**
     * Revokes the memory: peers are told, their accesses are refused from now on, and one in progress ends in memory
     * that is nobody's. The range is used again when the last access of this process has ended. Never blocks;
     * idempotent.
     */
    @Override
    public void close() {
        List<Link> told;
        int key;
        synchronized (this) {
            if (links == null) {
                return;
            }
            told = links;
            key = remoteKey;
            links = null;
        }
        memory.invalidate();
        told.forEach(link -> link.retract(key));
        memory.close();
        descriptor.close();
    }
}
