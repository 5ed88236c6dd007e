package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.OptionalInt;
import java.util.Set;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.DeviceInfo;

/**
 * One end of a connection that carries messages and opens memory. Plain blocking calls, from any number of threads at
 * once; each has a twin whose name begins with {@code start} and which returns a {@link Pending} to await later.
 *
 * <ul>
 * <li>Messages of any size, with or without 32 bits of immediate data: {@link #send(LocalRegion)}, {@link #receive()}.
 * A sender waits while the receiver has not taken what was sent before.
 * <li>The peer's memory: {@link #read}, {@link #write(LocalRegion, RemoteRegion)}, {@link #compareAndSwap},
 * {@link #fetchAndAdd}. The peer's program takes no part, except that a write with immediate data is told to
 * {@link #receiveImmediate()}.
 * <li>Leases of that memory: {@link #requestRemote(long, Duration)}, {@link #share}, {@link #handOver}.
 * <li>On a raw endpoint, sends and receives as the device knows them: {@link #sendRaw(LocalRegion)},
 * {@link #receiveRaw(long)}.
 * </ul>
 *
 * <p>An operation that the device or the peer refuses ends the connection: that is how reliable connections work. Then,
 * and when the peer closes or dies, all calls fail with an {@link EndpointException} that says why. An interrupt ends
 * the wait of a virtual thread, and only of such; the operation goes on, and its memory stays locked until it has
 * ended. So it is with a wait that has timed out.
 *
 * <p>Each call asks for {@link StackRoom} first: a caller that has come to the end of its stack learns it there, with
 * nothing taken or begun, and the connection goes on.
 *
 * @since 0.1
 */
public final class RdmaEndpoint implements AutoCloseable {
    private static final Duration LEASE = Duration.ofSeconds(60);
    private static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

    private static final int ATOMIC_BYTES = 8;

    final EndpointProtocol link;
    private final MessageReassembler assembly;
    /** Receives whose callers have given up: the next messages go there, in this order; guarded by itself. */
    private final ArrayDeque<LeftReceive> leftReceives = new ArrayDeque<>(0);

    private record LeftReceive(LocalRegion region, Pending<RawMessage> pending) {}

    private RdmaEndpoint(EndpointProtocol link) {
        this.link = link;
        assembly = new MessageReassembler(link);
    }

    /** An endpoint over a connection that is up, or else its peer hears that this end is gone. */
    static RdmaEndpoint over(EndpointProtocol link) {
        try {
            return new RdmaEndpoint(link);
        } catch (Throwable e) {
            link.connection().abort();
            throw e;
        }
    }

    /** {@return a builder of endpoints, and of servers that accept them} */
    public static RdmaEndpointBuilder builder() {
        return new RdmaEndpointBuilder(new Settings(), null);
    }

    /**
     * Begins a further connection, with the settings of this one, that shares its protection domain: regions of one can
     * be used with the other. It has to go over the same device. {@link RdmaEndpointBuilder#ownProtectionDomain} parts
     * them.
     *
     * @return its builder
     */
    public RdmaEndpointBuilder another() {
        Settings own = link.settings.clone();
        own.pass = null; // shown to one node only
        own.entrance = null;
        return new RdmaEndpointBuilder(own, new Sharing(link.domain));
    }

    /**
     * Allocates registered memory, with the access that the builder was told.
     *
     * @param size how many bytes, at least 1
     * @return zeroed memory
     * @throws IOException if the device refuses, or this is closed
     */
    public LocalRegion allocate(long size) throws IOException {
        return allocate(size, 1);
    }

    /**
     * Allocates registered memory.
     *
     * @param size how many bytes, at least 1
     * @param alignment a power of two
     * @return zeroed memory
     * @throws IOException if the device refuses, or this is closed
     */
    public LocalRegion allocate(long size, long alignment) throws IOException {
        return allocate(size, alignment, link.settings.access);
    }

    /**
     * Allocates registered memory.
     *
     * @param size how many bytes, at least 1
     * @param alignment a power of two
     * @param access its access rights; {@link AccessFlag#LOCAL_WRITE} is always among them
     * @return zeroed memory
     * @throws IOException if the device refuses, or this is closed
     */
    public LocalRegion allocate(long size, long alignment, Set<AccessFlag> access) throws IOException {
        StackRoom.ensure();
        return link.domain.allocate(size, alignment, Rights.complete(access), link.settings.strategy);
    }

    /**
     * Sends a message and waits until the peer's device has it.
     *
     * @param message the bytes
     * @throws IOException {@link EndpointException} if it cannot be sent, {@link SocketTimeoutException} if it takes
     *         longer than the builder was told
     * @throws RegionBusyException if the device writes to the memory
     */
    public void send(LocalRegion message) throws IOException {
        finish(startSend(message));
    }

    /**
     * Sends a message with immediate data and waits until the peer's device has it.
     *
     * @param message the bytes
     * @param immediate 32 bits beside them
     * @throws IOException as {@link #send(LocalRegion)}
     */
    public void send(LocalRegion message, int immediate) throws IOException {
        finish(startSend(message, immediate));
    }

    /**
     * Sends a message that is nothing but its immediate data.
     *
     * @param immediate 32 bits
     * @throws IOException as {@link #send(LocalRegion)}
     */
    public void sendImmediate(int immediate) throws IOException {
        StackRoom.ensure();
        finish(beginMessage(null, OptionalInt.of(immediate)));
    }

    /**
     * Begins to send a message.
     *
     * @param message the bytes, locked for reading until the end
     * @return ends when the peer's device has it
     * @throws EndpointException if the message is longer than the peer takes
     */
    public Pending<Void> startSend(LocalRegion message) throws EndpointException {
        StackRoom.ensure();
        return beginMessage(message, OptionalInt.empty());
    }

    /**
     * Begins to send a message that stays in this end's memory until the peer's application takes it, and is read from
     * there by RDMA READ: that needs one buffer of the peer for its header, and wakes it once (MPI's rendezvous). It is
     * for long messages, to a peer that takes what comes: two ends that both wait for the end of such a message, before
     * they receive, wait for each other. A message that has not ended is lost when either end is closed. With adapters
     * that take what a read brings for a write of the peer (some of iWARP, see {@link #startRead}) it ends the
     * connection.
     *
     * @param message the bytes, in memory with {@link AccessFlag#REMOTE_READ}, locked for reading until the end; the
     *        peer may read all of its allocation, as long as that is open
     * @return ends when the peer's application has taken it
     * @throws EndpointException if the message is longer than the peer takes
     * @throws IllegalArgumentException if the peer may not read the memory
     * @throws RegionBusyException if the device writes to the memory
     */
    public Pending<Void> startRendezvous(LocalRegion message) throws EndpointException {
        StackRoom.ensure();
        checkMessage(message);
        if (!message.access().contains(AccessFlag.REMOTE_READ)) {
            throw new IllegalArgumentException("the peer may not read " + message + ": allocate it with REMOTE_READ");
        }
        Pending<Void> pending = new Pending<>(link.writers, "send");
        link.connection().locked(() -> {
            if (link.failure != null) {
                pending.fail(link.failure);
            } else {
                link.sends.send(new Rendezvous(message, pending));
            }
        });
        return pending;
    }

    /**
     * Begins to send a message with immediate data.
     *
     * @param message the bytes, locked for reading until the end
     * @param immediate 32 bits beside them
     * @return ends when the peer's device has it
     * @throws EndpointException if the message is longer than the peer takes
     */
    public Pending<Void> startSend(LocalRegion message, int immediate) throws EndpointException {
        StackRoom.ensure();
        return beginMessage(message, OptionalInt.of(immediate));
    }

    /**
     * Waits for the next message.
     *
     * @return the message, to be closed
     * @throws IOException {@link EndpointException} if none will come, {@link SocketTimeoutException} after
     *         {@link #wakeup()}
     */
    public Message receive() throws IOException {
        StackRoom.ensure();
        return receiveUntil(Long.MAX_VALUE);
    }

    /**
     * Waits for the next message, for a time.
     *
     * @param limit longest wait
     * @return the message, to be closed
     * @throws IOException {@link EndpointException} if none will come, {@link SocketTimeoutException} if none has come,
     *         or after {@link #wakeup()}
     */
    public Message receive(Duration limit) throws IOException {
        StackRoom.ensure();
        return receiveUntil(NanoTimes.after(limit));
    }

    /**
     * Takes the next message if it is here, and does not wait for it.
     *
     * @return the message, to be closed; null if none has come as a whole, or another thread waits for it
     * @throws IOException {@link EndpointException} if this end is closed, or the connection has ended while a message
     *         was read from the peer's memory; what else ends it is told by {@link #receive()}
     */
    public Message poll() throws IOException {
        StackRoom.ensure();
        ensureMessages();
        return assembly.poll();
    }

    /**
     * Waits for the next message, for a time, and takes its bytes to the heap, with one copy less than
     * {@link Message#toArray}; unless it is longer than the caller wants there, then {@link #receive(Duration)} has it.
     *
     * @param most bytes of the longest message that is taken
     * @param limit longest wait
     * @return the bytes, without the immediate data; null if a longer message comes next
     * @throws IOException as {@link #receive(Duration)}
     */
    public byte[] receiveArray(int most, Duration limit) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        return assembly.receiveArray(most, NanoTimes.after(limit));
    }

    /**
     * Takes the bytes of the next message to the heap if it is here, likewise, and does not wait for it.
     *
     * @param most bytes of the longest message that is taken
     * @return the bytes, without the immediate data; null as of {@link #poll()}, or if a longer message comes next
     * @throws IOException as {@link #poll()}
     */
    public byte[] pollArray(int most) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        return assembly.pollArray(most);
    }

    /**
     * Ends the wait of the thread in {@link #receive()}, as {@link java.nio.channels.Selector#wakeup()} does: it gets a
     * {@link SocketTimeoutException}. If no thread waits, the next one that would gets it. Any thread; no effect on
     * messages, nor on an endpoint that has ended, nor on a thread that reads a message from the peer's memory.
     */
    public void wakeup() {
        StackRoom.ensure();
        ensureMessages();
        assembly.wakeup();
    }

    /** Waits for the next message until a time by {@code System.nanoTime}; the caller has {@link StackRoom}. */
    Message receiveUntil(long deadlineNanos) throws IOException {
        ensureMessages();
        return assembly.receive(deadlineNanos);
    }

    /**
     * Reads the peer's memory and waits until it is here.
     *
     * @param into as many bytes as are to be read
     * @param from where they are
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws RegionBusyException if the device works on the memory
     */
    public void read(LocalRegion into, RemoteRegion from) throws IOException {
        finish(startRead(into, from));
    }

    /**
     * Begins to read the peer's memory. Some iWARP adapters (soft-iWARP is not one) take what comes for a write of the
     * peer: with them, allocate the memory with {@link AccessFlag#REMOTE_WRITE}.
     *
     * @param into as many bytes as are to be read, locked for writing until the end
     * @param from where they are, the same size
     * @return ends when they are here
     * @throws EndpointException if the lease does not allow it
     */
    public Pending<Void> startRead(LocalRegion into, RemoteRegion from) throws EndpointException {
        StackRoom.ensure();
        return beginRead(into, from);
    }

    /**
     * Writes to the peer's memory and waits until it is there.
     *
     * @param from the bytes
     * @param to where they go, the same size
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws RegionBusyException if the device writes to the memory
     */
    public void write(LocalRegion from, RemoteRegion to) throws IOException {
        finish(startWrite(from, to));
    }

    /**
     * Writes to the peer's memory, then tells the peer's {@link #receiveImmediate()}, and waits until that is done.
     *
     * @param from the bytes
     * @param to where they go, the same size
     * @param immediate 32 bits for the peer's application
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws UnsupportedOperationException if the device has no immediate data (iWARP)
     */
    public void write(LocalRegion from, RemoteRegion to, int immediate) throws IOException {
        finish(startWrite(from, to, immediate));
    }

    /**
     * Begins to write to the peer's memory.
     *
     * @param from the bytes, locked for reading until the end
     * @param to where they go, the same size
     * @return ends when they are there
     * @throws EndpointException if the lease does not allow it
     */
    public Pending<Void> startWrite(LocalRegion from, RemoteRegion to) throws EndpointException {
        StackRoom.ensure();
        return beginWrite(from, to, OptionalInt.empty());
    }

    /**
     * Begins to write to the peer's memory with immediate data.
     *
     * @param from the bytes, locked for reading until the end
     * @param to where they go, the same size
     * @param immediate 32 bits for the peer's application
     * @return ends when they are there
     * @throws EndpointException if the lease does not allow it
     * @throws UnsupportedOperationException if the device has no immediate data (iWARP)
     */
    public Pending<Void> startWrite(LocalRegion from, RemoteRegion to, int immediate) throws EndpointException {
        StackRoom.ensure();
        return beginWrite(from, to, OptionalInt.of(immediate));
    }

    /**
     * Waits until the peer has written to this end's memory with immediate data.
     *
     * @return the 32 bits
     * @throws IOException {@link EndpointException} if none will come
     */
    public int receiveImmediate() throws IOException {
        return receiveImmediate(FOREVER);
    }

    /**
     * Waits, for a time, until the peer has written to this end's memory with immediate data.
     *
     * @param limit longest wait
     * @return the 32 bits
     * @throws IOException {@link EndpointException} if none will come, {@link SocketTimeoutException} if none has come
     */
    public int receiveImmediate(Duration limit) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        return taken(link.take(link.messageSide().immediates, NanoTimes.after(limit), "immediate data"));
    }

    /**
     * Compares 8 bytes of the peer's memory with a value and replaces them if they are equal, at once.
     *
     * @param remote 8 bytes at an address that is a multiple of 8, in the peer's byte order
     * @param expected swap only if this is there
     * @param desired the new value
     * @return the previous value; equal to expected if it was replaced
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws IllegalArgumentException if these are not 8 aligned bytes
     * @throws UnsupportedOperationException if the device has no atomics
     */
    public long compareAndSwap(RemoteRegion remote, long expected, long desired) throws IOException {
        StackRoom.ensure();
        return finish(atomic(new Atomic.Task(remote, true, expected, desired)));
    }

    /**
     * Adds to 8 bytes of the peer's memory, at once.
     *
     * @param remote 8 bytes at an address that is a multiple of 8, in the peer's byte order
     * @param increment the value to add
     * @return the previous value
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws IllegalArgumentException if these are not 8 aligned bytes
     * @throws UnsupportedOperationException if the device has no atomics
     */
    public long fetchAndAdd(RemoteRegion remote, long increment) throws IOException {
        StackRoom.ensure();
        return finish(atomic(new Atomic.Task(remote, false, increment, 0)));
    }

    /**
     * Asks the peer for memory, for a minute.
     *
     * @param size how many bytes, at least 1
     * @return a lease of zeroed memory, with all rights that the peer gives
     * @throws IOException as {@link #requestRemote(long, Duration)}
     */
    public RemoteLease requestRemote(long size) throws IOException {
        return requestRemote(size, LEASE);
    }

    /**
     * Asks the peer for memory to read and write, and for atomics if the device has them.
     *
     * @param size how many bytes, at least 1
     * @param time how long it is wanted; the peer may give less
     * @return a lease of zeroed memory
     * @throws IOException {@link EndpointException} if the peer refuses, {@link SocketTimeoutException} if it does not
     *         answer in time
     */
    public RemoteLease requestRemote(long size, Duration time) throws IOException {
        return requestRemote(size, time, Set.of());
    }

    /**
     * Asks the peer for memory with certain rights.
     *
     * @param size how many bytes, at least 1
     * @param time how long it is wanted; the peer may give less
     * @param rights the rights that this end wants; empty for all that the peer gives
     * @return a lease of zeroed memory
     * @throws IOException {@link EndpointException} if the peer refuses, {@link SocketTimeoutException} if it does not
     *         answer in time
     */
    public RemoteLease requestRemote(long size, Duration time, Set<AccessFlag> rights) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        if (size < 1) {
            throw new IllegalArgumentException("at least one byte can be leased, not " + size);
        }
        Pending<RemoteLease> answer = link.compute(unused -> link.borrower.ask(size, NanoTimes.nanos(time), rights));
        try {
            return answer.await(NanoTimes.after(link.settings.answerNanos));
        } catch (Throwable e) {
            link.connection().locked(() -> link.borrower.withdraw(answer));
            throw e;
        }
    }

    /**
     * Lends memory of this end to the peer's application, which gets it by {@link #receiveShared()}, and waits until
     * the peer's device knows. The region belongs to the lease from now on: it is closed when that ends. Operations of
     * this end on it should have ended by then, too: they keep its key alive, and if they take longer than an answer
     * may, the connection ends.
     *
     * @param region all of a region, with a remote right
     * @param time how long the peer may use it
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws IllegalArgumentException if this is a part of a region, or no peer may reach it
     * @throws IllegalStateException if the region is closed, or shared already
     */
    public void share(LocalRegion region, Duration time) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        if (!owned(region).isWhole() || !Rights.anyRemote(region.access())) {
            throw new IllegalArgumentException("all of a region that a peer may reach can be shared, not " + region
                    + (region.isWhole() ? "" : ", which is a part"));
        }
        long endNanos = System.nanoTime() + Math.min(NanoTimes.nanos(time), link.settings.longestLeaseNanos);
        Pending<Void> pending = new Pending<>(link.writers, "share");
        finish(link.compute(unused -> {
            link.ensureAlive();
            region.block.lend();
            link.sends.send(link.lender.share(region, endNanos, pending));
            return pending;
        }));
    }

    /**
     * Waits until the peer shares memory.
     *
     * @return the lease
     * @throws IOException {@link EndpointException} if none will come
     */
    public RemoteLease receiveShared() throws IOException {
        return receiveShared(FOREVER);
    }

    /**
     * Waits, for a time, until the peer shares memory.
     *
     * @param limit longest wait
     * @return the lease
     * @throws IOException {@link EndpointException} if none will come, {@link SocketTimeoutException} if none has come
     */
    public RemoteLease receiveShared(Duration limit) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        return taken(link.take(link.messageSide().shared, NanoTimes.after(limit), "shared memory"));
    }

    /**
     * Gives leased memory back to the peer, whose application gets it by {@link #receiveHandedOver()}, with what was
     * written to it; and waits until the peer has said that the lease had not expired there.
     *
     * @param lease of this connection
     * @throws IOException {@link EndpointException} if the lease has ended, {@link SocketTimeoutException} if the peer
     *         does not answer in time
     */
    public void handOver(RemoteLease lease) throws IOException {
        StackRoom.ensure();
        lease.ensureOf(link);
        lease.handOver(NanoTimes.after(link.settings.answerNanos));
    }

    /**
     * Waits until the peer hands memory of this end over. Memory that this end has shared itself comes back as the same
     * region; the peer can still reach it by its key until it is closed. Memory that the peer has asked for comes as a
     * copy in a region of its own, with what had been written when the peer handed it over; no peer reaches the copy.
     *
     * @return the region, which is the caller's now
     * @throws IOException {@link EndpointException} if none will come
     */
    public LocalRegion receiveHandedOver() throws IOException {
        return receiveHandedOver(FOREVER);
    }

    /**
     * Waits, for a time, until the peer hands memory of this end over, as {@link #receiveHandedOver()}.
     *
     * @param limit longest wait
     * @return the region, which is the caller's now
     * @throws IOException {@link EndpointException} if none will come, {@link SocketTimeoutException} if none has come
     */
    public LocalRegion receiveHandedOver(Duration limit) throws IOException {
        StackRoom.ensure();
        ensureMessages();
        Lender.Lent back = link.take(link.messageSide().handedOver, NanoTimes.after(limit), "memory");
        link.connection().locked(() -> link.lender.taken(back));
        return back.region();
    }

    /**
     * Sends into the receive that the peer has posted next, and waits until the device says that it is there. Raw
     * endpoints only; see {@link #startSendRaw} for what a device may say too early, and for how long it waits.
     *
     * @param message the bytes, in one piece
     * @throws IOException as {@link #send(LocalRegion)}
     */
    public void sendRaw(LocalRegion message) throws IOException {
        finish(startSendRaw(message, OptionalInt.empty()));
    }

    /**
     * Sends with immediate data into the receive that the peer has posted next, likewise. Raw endpoints only.
     *
     * @param message the bytes, in one piece
     * @param immediate 32 bits beside them
     * @throws IOException as {@link #send(LocalRegion)}
     * @throws UnsupportedOperationException if the device has no immediate data (iWARP)
     */
    public void sendRaw(LocalRegion message, int immediate) throws IOException {
        finish(startSendRaw(message, OptionalInt.of(immediate)));
    }

    /**
     * Begins to send into the receive that the peer has posted next. Raw endpoints only. Where devices cannot wait for
     * a receive (iWARP), it has to be there already; where they can, it has to be there before the
     * {@linkplain RdmaEndpointBuilder#acknowledgeTimeout time of an acknowledgement} is over, for nothing tells a peer
     * without a receive from one that is gone. Over iWARP, and between processes over shared memory, this may end well
     * although the peer then refuses what comes, because it is longer than the receive: that ends the connection.
     *
     * @param message the bytes, in one piece, locked for reading until the end
     * @param immediate 32 bits beside them, or empty
     * @return ends when they are there
     * @throws EndpointException if the message is longer than the device sends
     * @throws UnsupportedOperationException if the device has no immediate data (iWARP)
     */
    public Pending<Void> startSendRaw(LocalRegion message, OptionalInt immediate) throws EndpointException {
        StackRoom.ensure();
        ensureRaw();
        if (immediate.isPresent()) {
            ensureCan(Capability.IMMEDIATE_DATA, "a raw send with immediate data");
        }
        return begin(new Transfer.Task(Transfer.Kind.RAW_MESSAGE, owned(message), null, immediate),
                link.rawPieceBytes(message.length()));
    }

    /**
     * Posts a receive and waits until the peer has sent into it. Raw endpoints only.
     *
     * @param size most bytes that may come
     * @return the result of the receive
     * @throws IOException {@link EndpointException} if nothing will come
     */
    public RawMessage receiveRaw(long size) throws IOException {
        return receiveRaw(size, () -> { });
    }

    /**
     * Posts a receive, does something, and waits until the peer has sent into it. Raw endpoints only. A receive cannot
     * be taken back: if a call gives up, by an interrupt or because the hook has thrown, the next call gets its receive
     * with what comes into it, however much that call asks for.
     *
     * @param size most bytes that may come
     * @param afterPost runs as soon as the peer may send; may tell the peer so
     * @return the result of the receive
     * @throws IOException {@link EndpointException} if nothing will come
     */
    public RawMessage receiveRaw(long size, Runnable afterPost) throws IOException {
        StackRoom.ensure();
        ensureRaw();
        LeftReceive left;
        synchronized (leftReceives) {
            left = leftReceives.poll();
        }
        LeftReceive own = left == null ? postReceive(size) : left;
        boolean over = false;
        try {
            afterPost.run();
            RawMessage message = own.pending.await(Long.MAX_VALUE);
            over = true;
            return message;
        } catch (EndpointException e) {
            over = true;
            own.region.block.close();
            throw e;
        } finally {
            if (!over) {
                synchronized (leftReceives) {
                    leftReceives.add(own);
                }
            }
        }
    }

    /**
     * Posts a receive. Raw endpoints only.
     *
     * @param region where to put what comes, locked for writing until the end
     * @return ends when the peer has sent into it, or written elsewhere with immediate data
     * @throws EndpointException if too many are posted already, or this connection is over
     */
    public Pending<RawMessage> startReceiveRaw(LocalRegion region) throws EndpointException {
        StackRoom.ensure();
        ensureRaw();
        owned(region);
        link.rawPieceBytes(region.length());
        Pending<RawMessage> pending = new Pending<>(link.readers, "receiveRaw");
        return link.compute(unused -> {
            link.rawReceives().post(region, pending);
            return pending;
        });
    }

    /**
     * Tells whether the device can do something.
     *
     * @param capability the capability
     * @return true if it can
     */
    public boolean supports(Capability capability) {
        return link.device().supports(capability);
    }

    /** {@return the name and kind of the device that the connection goes over} */
    public DeviceInfo device() {
        return link.device().info();
    }

    /** {@return this end's address and port} */
    public InetSocketAddress localAddress() {
        return link.connection().localAddress();
    }

    /** {@return the peer's address and port} */
    public InetSocketAddress remoteAddress() {
        return link.connection().remoteAddress();
    }

    /**
     * Names the user whose process is the peer, by the kernel's word ({@code SO_PEERCRED}), over shared memory. The
     * peer chooses its {@linkplain #remoteAddress address} itself there.
     *
     * @return the number of the user; empty over other devices, and when the peer has left
     */
    public OptionalInt peerUser() {
        return link.connection().peerUser();
    }

    /**
     * Closes the connection: waiting threads are told so at once, what was sent gets a moment to arrive, and all
     * regions end, unless another endpoint shares them. Idempotent, does not block.
     *
     * <p>Over iWARP a completed send need not have arrived. There that moment lasts until the peer has gone, as it does
     * when it hears that this end goes, or says that it goes itself; at most as long as
     * {@link RdmaEndpointBuilder#linger} says. A raw endpoint has no message for that and ends when all has completed:
     * the last messages are safe only if the peer's program has answered them.
     */
    @Override
    public void close() {
        StackRoom.ensure();
        end();
    }

    /** As {@link #close}, for a caller that has {@link StackRoom}. */
    void end() {
        try {
            link.close();
        } finally {
            assembly.close();
        }
    }

    // Common to the methods above.

    /** As {@link #startSend}, for a caller that has {@link StackRoom}; null for a message without bytes. */
    Pending<Void> beginMessage(LocalRegion message, OptionalInt immediate) throws EndpointException {
        checkMessage(message);
        return begin(new Transfer.Task(Transfer.Kind.MESSAGE, message, null, immediate), link.messagePieceBytes());
    }

    private void checkMessage(LocalRegion message) throws EndpointException {
        ensureMessages();
        long length = message == null ? 0 : owned(message).length();
        if (length > link.peer.maxMessageBytes()) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "a message of " + length
                    + " bytes: the peer takes at most " + link.peer.maxMessageBytes());
        }
    }

    /** As {@link #startRead}, for a caller that has {@link StackRoom}. */
    Pending<Void> beginRead(LocalRegion into, RemoteRegion from) throws EndpointException {
        from.ensureAllows(AccessFlag.REMOTE_READ, link);
        return access(new Transfer.Task(Transfer.Kind.READ, into, from, OptionalInt.empty()));
    }

    /** As {@link #startWrite}, for a caller that has {@link StackRoom}. */
    Pending<Void> beginWrite(LocalRegion from, RemoteRegion to, OptionalInt immediate) throws EndpointException {
        if (immediate.isPresent()) {
            ensureCan(Capability.IMMEDIATE_DATA, "a write with immediate data");
        }
        to.ensureAllows(AccessFlag.REMOTE_WRITE, link);
        return access(new Transfer.Task(Transfer.Kind.WRITE, from, to, immediate));
    }

    private Pending<Void> access(Transfer.Task task) {
        if (owned(task.local()).length() != task.remote().length()) {
            throw new IllegalArgumentException("a " + task.kind().text() + " needs as many bytes here as there: "
                    + task.local().length() + " and " + task.remote().length() + "; use a slice");
        }
        return begin(task, link.accessPieceBytes);
    }

    private Pending<Void> begin(Transfer.Task task, int pieceBytes) {
        Pending<Void> pending = new Pending<>(link.writers, task.kind().text());
        link.connection().locked(() -> {
            if (link.failure != null) {
                pending.fail(link.failure); // the region may have ended with it, but this is why
            } else if (task.remote() == null) {
                link.sends.send(new Transfer(task, pieceBytes, pending));
            } else {
                link.sends.access(new Transfer(task, pieceBytes, pending));
            }
        });
        return pending;
    }

    private Pending<Long> atomic(Atomic.Task task) throws EndpointException {
        RemoteRegion remote = task.remote();
        if (remote.length() != ATOMIC_BYTES || remote.address() % ATOMIC_BYTES != 0) {
            throw new IllegalArgumentException("an atomic operation works on 8 bytes at a multiple of 8, not on "
                    + remote);
        }
        ensureCan(Capability.ATOMICS, "an atomic operation");
        remote.ensureAllows(AccessFlag.REMOTE_ATOMIC, link);
        Pending<Long> pending = new Pending<>(link.writers, "atomic operation");
        link.connection().locked(() -> link.sends.access(new Atomic(task, pending)));
        return pending;
    }

    private LeftReceive postReceive(long size) throws IOException {
        LocalRegion region = link.domain.allocateForMessage(size);
        try {
            return new LeftReceive(region, startReceiveRaw(region));
        } catch (Throwable e) {
            region.block.close();
            throw e;
        }
    }

    /** Lets the peer send as much again. */
    private <T> T taken(T one) {
        link.connection().locked(() -> link.messageSide().taken());
        return one;
    }

    /** Begins to tell the peer, a node of the same group, something. */
    Pending<Void> signal(long number, int word) {
        ensureMessages();
        Pending<Void> pending = new Pending<>(link.writers, "signal");
        Header header = new Header(Header.Kind.SIGNAL, 0, 0, 0, word, number, 0, 0, 0, 0);
        link.connection().locked(() -> link.sends.tell(new ControlMessage(header, 0, pending)));
        return pending;
    }

    /** Waits for what the peer tells as a node of the same group. */
    Header takeSignal(long deadlineNanos) throws IOException {
        ensureMessages();
        return link.take(link.messageSide().signals, deadlineNanos, "signal");
    }

    /** Waits for the end of an operation, as long as the settings allow. */
    private <T> T finish(Pending<T> pending) throws IOException {
        return pending.await(NanoTimes.after(link.settings.operationNanos));
    }

    /** Refuses memory of another protection domain, which the device would refuse by breaking the connection. */
    private LocalRegion owned(LocalRegion region) {
        if (region.block.domain != link.domain) {
            throw new IllegalArgumentException("the region belongs to another endpoint: allocate it here, or connect "
                    + "by another() of that one");
        }
        return region;
    }

    /** Refuses what a raw endpoint has not. */
    private void ensureMessages() {
        if (link.settings.raw) {
            throw new UnsupportedOperationException("a raw endpoint has neither messages nor leases: build it without "
                    + "raw(true)");
        }
    }

    /** Refuses what only a raw endpoint has. */
    private void ensureRaw() {
        if (!link.settings.raw) {
            throw new UnsupportedOperationException("only a raw endpoint posts its own receives: build it with "
                    + "raw(true)");
        }
    }

    private void ensureCan(Capability capability, String what) {
        if (!link.device().supports(capability)) {
            throw new UnsupportedOperationException("device " + link.device().info().name() + " cannot do " + what
                    + ": it lacks " + capability);
        }
    }

    @Override
    public String toString() {
        return "RdmaEndpoint" + link;
    }
}
