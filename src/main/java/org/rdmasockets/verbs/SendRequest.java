package org.rdmasockets.verbs;

import java.util.Objects;

/**
 * A request for the send queue ({@code struct ibv_send_wr}), reusable: fill it, post it, fill it again. Not for use by
 * two threads at a time. Start with one of {@link #send}, {@link #write}, {@link #read}, {@link #compareAndSwap} or
 * {@link #fetchAndAdd}, which clear what was there before.
 *
 * @since 0.1
 */
public final class SendRequest {
    /**
     * The operation of a send request ({@code enum ibv_wr_opcode}).
     *
     * @since 0.1
     */
    public enum Opcode {
        /** Send into the peer's next receive. */
        SEND,
        /** Send with 32 bits beside the data. */
        SEND_WITH_IMMEDIATE,
        /** Write into the peer's memory; the peer is not told. */
        WRITE,
        /** Write into the peer's memory, then complete the peer's next receive with 32 bits. */
        WRITE_WITH_IMMEDIATE,
        /** Read the peer's memory. */
        READ,
        /** Compare and swap 8 bytes of the peer's memory; the old value comes back. */
        COMPARE_AND_SWAP,
        /** Add to 8 bytes of the peer's memory; the old value comes back. */
        FETCH_AND_ADD,
        /** Give the peer access to a part of a memory region by a window. */
        BIND_WINDOW,
        /** Make the key of a window invalid. */
        INVALIDATE
    }

    private static final int SIGNALLED = 1;
    private static final int INLINE = 1 << 1;
    private static final int FENCED = 1 << 2;
    private static final int SOLICITED = 1 << 3;
    /** The hints lie above these. */
    private static final int HINTS_SHIFT = 4;

    private Opcode opcode = Opcode.SEND;
    private long workRequestId;
    /** Of {@link #SIGNALLED} and its like, and hints. */
    private int flags;
    private int immediate;
    private int joinedImmediate;
    private long remoteAddress;
    private int remoteKey;
    private final int maxElements;
    private ScatterGatherList elements = ScatterGatherList.NONE;
    /** The payload, if it is not in registered memory. */
    private byte[] bytes;
    private int bytesOffset;
    private int bytesLength;
    /** The attributes that few requests have; null until one is set. */
    private Rare rare;

    /** The attributes of atomic operations, datagrams and binds. */
    private static final class Rare {
        private static final Rare NOTHING = new Rare();

        private long compareOrAdd;
        private long swap;
        /** Where a datagram goes; null if this is none. */
        private AddressHandle destination;
        private int destinationNumber;
        private int destinationKey;
        /** The binding of a window; null if this is no bind. */
        private WindowBinding binding;

        private void clear() {
            compareOrAdd = 0;
            swap = 0;
            destination = null;
            binding = null;
        }
    }

    /**
     * A request with room for gather elements.
     *
     * @param maxElements most elements, at least 1
     */
    public SendRequest(int maxElements) {
        if (maxElements < 1) {
            throw new IllegalArgumentException("a request needs room for at least one element, not " + maxElements);
        }
        this.maxElements = maxElements;
    }

    private SendRequest start(Opcode newOpcode, long newWorkRequestId) {
        opcode = newOpcode;
        workRequestId = newWorkRequestId;
        flags = 0;
        immediate = 0;
        joinedImmediate = 0;
        remoteAddress = 0;
        remoteKey = 0;
        if (elements != ScatterGatherList.NONE) {
            elements.clear();
        }
        bytes = null;
        bytesOffset = 0;
        bytesLength = 0;
        if (rare != null) {
            rare.clear();
        }
        return this;
    }

    /** The attributes that few requests have, for setting one. */
    private Rare makeRare() {
        rare = rare == null ? new Rare() : rare;
        return rare;
    }

    private Rare rare() {
        return rare == null ? Rare.NOTHING : rare;
    }

    /**
     * Forgets everything, so that no memory stays reachable through this.
     *
     * @return this
     */
    public SendRequest clear() {
        return start(Opcode.SEND, 0);
    }

    /**
     * Starts a send.
     *
     * @param newWorkRequestId comes back with the completion
     * @return this
     */
    public SendRequest send(long newWorkRequestId) {
        return start(Opcode.SEND, newWorkRequestId);
    }

    /**
     * Starts an RDMA write.
     *
     * @param newWorkRequestId comes back with the completion
     * @param address where in the peer's memory
     * @param key the peer's remote key
     * @return this
     */
    public SendRequest write(long newWorkRequestId, long address, int key) {
        start(Opcode.WRITE, newWorkRequestId);
        remoteAddress = address;
        remoteKey = key;
        return this;
    }

    /**
     * Starts an RDMA read.
     *
     * @param newWorkRequestId comes back with the completion
     * @param address where in the peer's memory
     * @param key the peer's remote key
     * @return this
     */
    public SendRequest read(long newWorkRequestId, long address, int key) {
        return start(Opcode.READ, newWorkRequestId).remote(address, key);
    }

    /**
     * Starts a compare-and-swap of 8 bytes; needs {@link Capability#ATOMICS}.
     *
     * @param newWorkRequestId comes back with the completion
     * @param address where in the peer's memory, a multiple of 8
     * @param key the peer's remote key
     * @param expected swap only if this is there
     * @param desired the new value
     * @return this
     */
    public SendRequest compareAndSwap(long newWorkRequestId, long address, int key, long expected, long desired) {
        start(Opcode.COMPARE_AND_SWAP, newWorkRequestId).remote(address, key);
        makeRare().compareOrAdd = expected;
        rare.swap = desired;
        return this;
    }

    /**
     * Starts a fetch-and-add of 8 bytes; needs {@link Capability#ATOMICS}.
     *
     * @param newWorkRequestId comes back with the completion
     * @param address where in the peer's memory, a multiple of 8
     * @param key the peer's remote key
     * @param increment the number to add
     * @return this
     */
    public SendRequest fetchAndAdd(long newWorkRequestId, long address, int key, long increment) {
        start(Opcode.FETCH_AND_ADD, newWorkRequestId).remote(address, key);
        makeRare().compareOrAdd = increment;
        return this;
    }

    /**
     * Starts the binding of a memory window; needs {@link Capability#MEMORY_WINDOWS}. Requests posted behind it find
     * the window bound.
     *
     * @param newWorkRequestId comes back with the completion
     * @param newBinding the window and the memory that it is bound to
     * @return this
     */
    public SendRequest bind(long newWorkRequestId, WindowBinding newBinding) {
        start(Opcode.BIND_WINDOW, newWorkRequestId);
        makeRare().binding = Objects.requireNonNull(newBinding);
        return this;
    }

    /**
     * Starts the invalidation of a key ({@code IBV_WR_LOCAL_INV}), after which the window it belongs to can be bound
     * again; needs {@link Capability#MEMORY_WINDOWS}.
     *
     * @param newWorkRequestId comes back with the completion
     * @param key {@link MemoryWindow#remoteKey} of a window that is bound
     * @return this
     */
    public SendRequest invalidate(long newWorkRequestId, int key) {
        return start(Opcode.INVALIDATE, newWorkRequestId).remote(0, key);
    }

    private SendRequest remote(long address, int key) {
        remoteAddress = address;
        remoteKey = key;
        return this;
    }

    /**
     * Adds immediate data to a send or write; needs {@link Capability#IMMEDIATE_DATA}.
     *
     * @param value 32 bits in host order; they travel in network order
     * @return this
     * @throws IllegalStateException if this is neither a send nor a write
     */
    public SendRequest immediate(int value) {
        opcode = switch (opcode) {
            case SEND, SEND_WITH_IMMEDIATE -> Opcode.SEND_WITH_IMMEDIATE;
            case WRITE, WRITE_WITH_IMMEDIATE -> Opcode.WRITE_WITH_IMMEDIATE;
            default -> throw new IllegalStateException("immediate data goes with a send or a write, not " + opcode);
        };
        immediate = value;
        return this;
    }

    /**
     * Adds hints for the provider; a program needs none ({@link org.rdmasockets.verbs.spi.SendHints}).
     *
     * @param bits the hints to add
     * @return this
     */
    public SendRequest hints(int bits) {
        flags |= bits << HINTS_SHIFT;
        return this;
    }

    /**
     * Adds hints for the provider, and immediate data for the case that this joins another request.
     *
     * @param bits the hints to add
     * @param immediateOfAll immediate data of the one message that both become
     * @return this
     */
    public SendRequest hints(int bits, int immediateOfAll) {
        flags |= bits << HINTS_SHIFT;
        joinedImmediate = immediateOfAll;
        return this;
    }

    /**
     * Adds a piece of a memory region.
     *
     * @param region registered memory
     * @param offsetBytes where the piece begins
     * @param lengthBytes how long it is
     * @return this
     * @throws IndexOutOfBoundsException if the piece is not inside the region, or there is no room for an element
     */
    public SendRequest add(MemoryRegion region, long offsetBytes, int lengthBytes) {
        elements = elements.withRoom(maxElements);
        elements.add(region, offsetBytes, lengthBytes);
        return this;
    }

    /**
     * Takes the payload of a send or write from an array, which needs {@link Capability#COPIES_AT_POST}: the post
     * copies it, and the array may be changed as soon as it returns. Not together with {@link #add} or {@link #inline}.
     *
     * @param array where the payload is
     * @param offset its first byte
     * @param length how many bytes
     * @return this
     * @throws IndexOutOfBoundsException if the payload is not inside the array
     */
    public SendRequest bytes(byte[] array, int offset, int length) {
        bytesOffset = Objects.checkFromIndexSize(offset, length, array.length);
        bytesLength = length;
        bytes = array;
        return this;
    }

    /**
     * Says where a datagram goes, for a send by a queue pair of {@link QueuePairType#UNRELIABLE_DATAGRAM}.
     *
     * @param handle the way to the peer's port
     * @param queuePairNumber the peer's queue pair, 24 bits
     * @param queueKey the peer's queue key
     * @return this
     */
    public SendRequest to(AddressHandle handle, int queuePairNumber, int queueKey) {
        makeRare().destination = Objects.requireNonNull(handle);
        rare.destinationNumber = queuePairNumber;
        rare.destinationKey = queueKey;
        return this;
    }

    /**
     * Makes the request complete visibly.
     *
     * @return this
     */
    public SendRequest signalled() {
        flags |= SIGNALLED;
        return this;
    }

    /**
     * Copies the data into the request when it is posted; at most {@link QueuePair#maxInlineBytes()}.
     *
     * @return this
     */
    public SendRequest inline() {
        flags |= INLINE;
        return this;
    }

    /**
     * Starts only when all earlier reads and atomics of this queue pair are done.
     *
     * @return this
     */
    public SendRequest fenced() {
        flags |= FENCED;
        return this;
    }

    /**
     * Wakes a peer that is armed for solicited completions only.
     *
     * @return this
     */
    public SendRequest solicited() {
        flags |= SOLICITED;
        return this;
    }

    /** {@return the opcode} */
    public Opcode opcode() {
        return opcode;
    }

    /** {@return {@code wr_id}, which comes back with the completion} */
    public long workRequestId() {
        return workRequestId;
    }

    /** {@return whether it completes visibly: {@link #signalled()} was called} */
    public boolean isSignalled() {
        return (flags & SIGNALLED) != 0;
    }

    /** {@return whether the data is copied at posting: {@link #inline()} was called} */
    public boolean isInline() {
        return (flags & INLINE) != 0;
    }

    /** {@return whether it waits for earlier reads: {@link #fenced()} was called} */
    public boolean isFenced() {
        return (flags & FENCED) != 0;
    }

    /** {@return whether it is solicited: {@link #solicited()} was called} */
    public boolean isSolicited() {
        return (flags & SOLICITED) != 0;
    }

    /** {@return the immediate data, 32 bits in host order} */
    public int immediate() {
        return immediate;
    }

    /** {@return the hints for the provider, bits of {@link org.rdmasockets.verbs.spi.SendHints}} */
    public int hints() {
        return flags >>> HINTS_SHIFT;
    }

    /** {@return immediate data of this and what it joins, as {@link #hints(int, int)} was given it, or 0} */
    public int joinedImmediate() {
        return joinedImmediate;
    }

    /** {@return where in the peer's memory: a virtual address of the peer} */
    public long remoteAddress() {
        return remoteAddress;
    }

    /** {@return {@code rkey}, the peer's, or ours which becomes invalid} */
    public int remoteKey() {
        return remoteKey;
    }

    /** {@return the binding of a window, or null if this is no bind} */
    public WindowBinding binding() {
        return rare().binding;
    }

    /** {@return the way that a datagram goes, or null if this is none} */
    public AddressHandle destination() {
        return rare == null ? null : rare.destination;
    }

    /** {@return the number of the queue pair that a datagram goes to} */
    public int destinationNumber() {
        return rare().destinationNumber;
    }

    /** {@return the peer's queue key, which a datagram carries} */
    public int destinationKey() {
        return rare().destinationKey;
    }

    /** {@return the expected value of a compare-and-swap, or the increment of a fetch-and-add} */
    public long compareOrAdd() {
        return rare().compareOrAdd;
    }

    /** {@return the new value of a compare-and-swap} */
    public long swap() {
        return rare().swap;
    }

    /** {@return the gather elements, a list that this request owns} */
    public ScatterGatherList elements() {
        return elements;
    }

    /** {@return the array that holds the payload, or null if that is in {@link #elements()}} */
    public byte[] bytes() {
        return bytes;
    }

    /** {@return the index in {@link #bytes()} where the payload begins} */
    public int bytesOffset() {
        return bytesOffset;
    }

    /** {@return the length of the payload in {@link #bytes()}} */
    public int bytesLength() {
        return bytesLength;
    }
}
