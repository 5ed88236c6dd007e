package org.rdmasockets.endpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.Set;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.AccessFlag;

/**
 * Registered memory of this end, or a part of it. The device works on it from the beginning of an operation until its
 * completion, whatever the caller does meanwhile: a call that was interrupted or has timed out leaves its memory
 * locked. An operation that would collide with that is refused by a {@link RegionBusyException}; operations that only
 * read (send, write) may share memory. Nothing keeps the application from touching {@link #segment} meanwhile, which it
 * should not do: {@link #isReadable} and {@link #isWritable} tell.
 *
 * <p>Any thread may call anything.
 *
 * @since 0.1
 */
public final class LocalRegion implements AutoCloseable {
    final Block block;
    private final long offset;
    private final long length;
    /** Whether this is all of the block, which ends with it. */
    private final boolean whole;

    private LocalRegion(Block block, long offset, long length, boolean whole) {
        this.block = block;
        this.offset = offset;
        this.length = length;
        this.whole = whole;
    }

    static LocalRegion of(Block block) {
        return new LocalRegion(block, 0, block.length, true);
    }

    /** Refuses a part that is empty or not inside the whole. */
    static void checkPart(long offset, long size, long whole) {
        if (size < 1 || offset < 0 || offset > whole - size) {
            throw new IndexOutOfBoundsException(size + " bytes from " + offset + " on are not inside " + whole
                    + " bytes, or none");
        }
    }

    /**
     * The bytes.
     *
     * @return native memory, readable and writable by any thread until the region is closed; later accesses throw
     *         {@link IllegalStateException}
     * @throws IllegalStateException if the region is closed
     */
    public MemorySegment segment() {
        return block.segment().asSlice(offset, length);
    }

    /** {@return how many bytes it has, at least 1} */
    public long length() {
        return length;
    }

    /** {@return the access rights of the memory: the flags of its registration} */
    public Set<AccessFlag> access() {
        return block.region.access();
    }

    /**
     * A part of this, which is locked by itself: operations on other parts do not collide with its own.
     *
     * @param from its first byte
     * @param size how many bytes, at least 1
     * @return the part; closing it does nothing, it ends with the whole
     * @throws IndexOutOfBoundsException if it is empty or not inside this
     */
    public LocalRegion slice(long from, long size) {
        checkPart(from, size, length);
        return new LocalRegion(block, offset + from, size, false);
    }

    /** {@return whether the memory may be read: no operation in progress writes to it} */
    public boolean isReadable() {
        return block.locks.isFree(offset, length, false);
    }

    /** {@return whether the memory may be written: no operation in progress reads or writes it} */
    public boolean isWritable() {
        return block.locks.isFree(offset, length, true);
    }

    /**
     * Describes this memory for a peer that is to reach it. For applications that tell the peer by themselves;
     * {@link RdmaEndpoint#share} does it for all others.
     *
     * @return address, length and key, good for peers whose endpoint shares this region's protection domain
     * @throws IllegalStateException if no peer may do anything with it: allocate it with a remote right
     */
    public RemoteRegion remote() {
        if (!Rights.anyRemote(access())) {
            throw new IllegalStateException("no peer may reach this region: allocate it with REMOTE_READ, REMOTE_WRITE "
                    + "or REMOTE_ATOMIC");
        }
        block.ensureOpen();
        return new RemoteRegion(block.region.address() + block.offset + offset, length,
                block.region.remoteKey(), access(), null);
    }

    /**
     * Copies bytes into this. If the region is closed meanwhile, its memory goes back only after the copy. A caller
     * that uses only this avoids the cost of the end of a {@link #segment}: that stops all threads, and the JVM
     * interrupts one that touches it then.
     *
     * @param at where the first byte goes
     * @param from the bytes
     * @param size how many of them, from the first on
     * @throws IndexOutOfBoundsException if they do not fit
     * @throws RegionBusyException if an operation in progress reads or writes there
     * @throws IllegalStateException if the region is closed
     */
    public void put(long at, byte[] from, int size) {
        put(at, from, 0, size);
    }

    /**
     * Copies bytes into this, as {@link #put(long, byte[], int)}.
     *
     * @param at where the first byte goes
     * @param from the bytes
     * @param begin the first of them
     * @param size how many of them
     * @throws IndexOutOfBoundsException if there are not so many, or they do not fit
     * @throws RegionBusyException if an operation in progress reads or writes there
     * @throws IllegalStateException if the region is closed
     */
    public void put(long at, byte[] from, int begin, int size) {
        RangeLocks.Hold hold = beginCopy(at, from.length, begin, size, true);
        try {
            MemorySegment.copy(from, begin, memory(), ValueLayout.JAVA_BYTE, at, size);
        } finally {
            hold.release();
        }
    }

    /**
     * Copies bytes out of this, likewise.
     *
     * @param at where the first byte is
     * @param to where they go
     * @param begin where the first byte goes
     * @param size how many of them
     * @throws IndexOutOfBoundsException if there are not so many, or they do not fit
     * @throws RegionBusyException if an operation in progress writes there
     * @throws IllegalStateException if the region is closed
     */
    public void get(long at, byte[] to, int begin, int size) {
        RangeLocks.Hold hold = beginCopy(at, to.length, begin, size, false);
        try {
            MemorySegment.copy(memory(), ValueLayout.JAVA_BYTE, at, to, begin, size);
        } finally {
            hold.release();
        }
    }

    private RangeLocks.Hold beginCopy(long at, int arrayLength, int begin, int size, boolean writes) {
        Objects.checkFromIndexSize(at, size, length);
        Objects.checkFromIndexSize(begin, size, arrayLength);
        StackRoom.ensure();
        return block.locks.acquire(offset + at, size, writes, "copy");
    }

    /** Where it begins in its registration. */
    long offset() {
        return block.offset + offset;
    }

    /** The bytes; the caller knows that the region is open. */
    MemorySegment memory() {
        return block.memory().asSlice(offset, length);
    }

    RangeLocks.Hold hold(boolean exclusive, String user) {
        return block.locks.acquire(offset, length, exclusive, user);
    }

    boolean isWhole() {
        return whole;
    }

    /**
     * Gives the memory back when the operations in progress have completed. Peers cannot reach it from then on. A part
     * does nothing. Idempotent, never blocks.
     *
     * @throws IllegalStateException if a thread does I/O with the segment; the region stays open
     */
    @Override
    public void close() {
        StackRoom.ensure();
        if (whole) {
            block.close();
        }
    }

    @Override
    public String toString() {
        return "LocalRegion[" + length + " bytes, " + access() + "]";
    }
}
