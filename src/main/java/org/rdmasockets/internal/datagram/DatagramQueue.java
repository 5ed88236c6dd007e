package org.rdmasockets.internal.datagram;

import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.log.Occurrences;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.SetupPool;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * A queue pair for the datagrams of one socket at one address of this host, with all that it needs. The engine's
 * poller, or a thread that waits to send, takes arriving datagrams to the inbox without waiting there; a datagram that
 * finds no room is lost.
 *
 * <p>Two locks: {@code receiving} is held to take completions and to post receives, {@code sending} to fill and post a
 * send; a thread that has the first may take the second.
 */
final class DatagramQueue {
    private static final Log LOG = new Log(DatagramQueue.class);
    private static final String OPENED = "[{}] datagrams over {}, queue pair {}";
    /** Devices already logged. */
    private static final Occurrences USED = new Occurrences();
    private static final LimitedLog FAILURES = new LimitedLog(LOG);
    private static final int SENDS = 64;
    private static final int RECEIVES = 128;
    /** The longest packet possible, so that slots need not grow with a port's MTU. */
    private static final int MOST_PACKET_BYTES = 4096;
    /** Size of a receive slot: a multiple of a cache line. */
    private static final int RECEIVE_BYTES = 4160;
    /** Where sends begin in the region. */
    private static final long SENDS_AT = (long) RECEIVES * RECEIVE_BYTES;
    private static final int BATCH = 32;
    /** Most batches before the poller's thread serves others. */
    private static final int MOST_BATCHES = 16;
    /** Identifiers of sends have this bit, and their slot; those of receives have their slot. */
    private static final long SEND = 1L << 32;
    /** How long a device may complete no send before it counts as broken. */
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Gets the datagrams that come. */
    interface Receiver {
        /** Tells whether there is room, before data is copied; false to drop it. */
        boolean hasRoom(int bytes);

        /** Takes a datagram, in an array of its own, null if there was no room, from the sender's queue pair. */
        void take(InetSocketAddress source, int queuePair, byte[] data);

        /** Something came that is no datagram of rsockets. */
        void dropped();

        /** Nothing will come any more, here nor in a queue pair that is made after this one. */
        void failed(VerbsException reason);
    }

    /** Port and GID of an address. */
    private record Place(Device device, int port, int gidIndex) {}

    private final Engine engine;
    /** Its address, and the socket's port. */
    final InetSocketAddress local;
    private final Receiver receiver;
    private final Place place;
    private final ProtectionDomain domain;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final QueuePair pair;
    private final MemoryRegion region;
    /** The longest packet of the port. */
    final int mtuBytes;

    private final SmallMutex receiving = new SmallMutex();
    /** Guarded by receiving. */
    private final WorkCompletions batch;
    private final ReceiveRequest receive = new ReceiveRequest(1);

    private final SmallMutex sending = new SmallMutex();
    private final Condition slotFree = sending.newCondition();
    /** Guarded by sending, as are the next three. */
    private final SendRequest request = new SendRequest(1);
    private final int[] freeSlots = new int[SENDS];
    private int freeCount = SENDS;
    /** The peer that the send of a slot goes to. */
    private final DatagramPeer[] users = new DatagramPeer[SENDS];

    /** Written under both locks. */
    private volatile boolean closed;

    /** All that was made, to be closed in reverse order. */
    private static final class Made implements AutoCloseable {
        private final List<AutoCloseable> all = new ArrayList<>();

        <T extends AutoCloseable> T add(T one) {
            all.add(one);
            return one;
        }

        @Override
        public void close() {
            for (AutoCloseable one : all.reversed()) {
                try {
                    one.close();
                } catch (Exception e) {
                    LOG.warn("closing {} failed", one, e);
                }
            }
        }
    }

    private final Made made;
    private final Consumer<VerbsException> pollerFailed = this::pollerFailed;

    private DatagramQueue(Engine engine, Place place, InetSocketAddress local, Receiver receiver, Made made)
            throws VerbsException {
        this.engine = engine;
        this.place = place;
        this.local = local;
        this.receiver = receiver;
        this.made = made;
        Device device = place.device();
        domain = made.add(device.allocateProtectionDomain());
        channel = made.add(device.createCompletionChannel());
        queue = made.add(device.createCompletionQueue(SENDS + RECEIVES, channel));
        region = made.add(domain.allocate(SENDS_AT + (long) SENDS * DatagramWire.MOST_BYTES,
                Set.of(AccessFlag.LOCAL_WRITE)));
        pair = made.add(domain.createDatagramQueuePair(
                new QueuePairConfig(queue, queue, SENDS, RECEIVES, 1, 1, 0, true)));
        batch = queue.newBatch(BATCH);
        for (int i = 0; i < SENDS; i++) {
            freeSlots[i] = i;
        }
        pair.modify(new QueuePairAttributes().state(QueuePairState.INIT).set(Field.PORT, place.port())
                .set(Field.PARTITION_KEY_INDEX, 0).set(Field.QUEUE_KEY, DatagramWire.QUEUE_KEY));
        for (int i = 0; i < RECEIVES; i++) {
            postReceive(i);
        }
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_RECEIVE));
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_SEND).set(Field.SEND_PACKET_NUMBER, 1));
        mtuBytes = pair.maxDatagramBytes();
        AutoCloseable uncount = () -> engine.countDatagrams(-1, -region.lengthBytes());
        made.add(uncount);
        engine.countDatagrams(1, region.lengthBytes());
    }

    /**
     * Makes a queue pair that sends and receives at an address of this host, and the socket's port. <em>May block</em>.
     * Throws if no device has that address and datagrams, with what each device says; or if it refuses.
     */
    static DatagramQueue open(Engine engine, VerbsProvider provider, InetSocketAddress local, Receiver receiver)
            throws VerbsException {
        Place place = find(provider, local.getAddress());
        Made made = new Made();
        DatagramQueue opened;
        try {
            opened = new DatagramQueue(engine, place, local, receiver, made);
        } catch (Throwable e) {
            made.close();
            throw e;
        }
        try {
            engine.poller().onFailure(opened.pollerFailed);
        } catch (VerbsException e) {
            made.close();
            throw e;
        }
        engine.poller().addQueue(opened.channel, opened::onEvent, opened::channelFailed);
        opened.onEvent(); // arms the completion queue
        if (USED.isFirst(opened.deviceName())) {
            LOG.info(OPENED, local, opened.deviceName(), opened.number());
        } else {
            LOG.debug(OPENED, local, opened.deviceName(), opened.number());
        }
        return opened;
    }

    private static Place find(VerbsProvider provider, InetAddress address) throws VerbsException {
        Gid gid = gid(address);
        List<String> reasons = new ArrayList<>();
        for (DeviceInfo info : provider.devices()) {
            Device device = provider.open(info.name());
            if (!device.supports(Capability.DATAGRAMS)) {
                reasons.add(info.name() + " (" + info.transport() + ") has no datagrams");
                continue;
            }
            for (int port = 1; port <= device.attributes().ports(); port++) {
                if (device.port(port).state() != PortAttributes.State.ACTIVE) {
                    reasons.add(info.name() + " port " + port + " is " + device.port(port).state());
                    continue;
                }
                for (GidEntry entry : device.gidTable(port)) {
                    if (entry.type() == GidEntry.Type.ROCE_V2 && entry.gid().equals(gid)) {
                        return new Place(device, port, entry.index());
                    }
                }
                reasons.add(info.name() + " port " + port + " has no RoCEv2 GID of that address");
            }
        }
        throw new VerbsException("ibv_query_gid_table", Errno.ENODEV.number(), "address=" + address.getHostAddress(),
                "no device carries datagrams from there: " + (reasons.isEmpty() ? "there is none"
                        : String.join(", ", reasons)) + "; use an address of a RoCE device, or let TRANSPORT be udp");
    }

    private static Gid gid(InetAddress address) {
        byte[] bytes = address.getAddress();
        byte[] gid = new byte[Gid.LENGTH_BYTES];
        System.arraycopy(bytes, 0, gid, gid.length - bytes.length, bytes.length);
        if (address instanceof Inet4Address) {
            gid[gid.length - bytes.length - 1] = -1;
            gid[gid.length - bytes.length - 2] = -1;
        }
        return new Gid(gid);
    }

    /** The device and its port, for messages. */
    String deviceName() {
        return place.device().info().name() + " port " + place.port();
    }

    /**
     * The most data of a datagram: as much as a packet of the port carries behind the header, and no more than a
     * receiver in C takes behind UDP's header, which is longer. C cuts the rest off.
     */
    int mostBytes() {
        InetAddress own = local.getAddress();
        return Math.min(mtuBytes - DatagramWire.headerBytes(own),
                DatagramWire.MOST_BYTES - DatagramWire.messageHeaderBytes(own));
    }

    int number() {
        return pair.number();
    }

    /** Whether it neither has failed nor was closed. */
    boolean isOpen() {
        return !closed;
    }

    /** Runs a task that may wait for a peer. */
    void execute(Runnable task) {
        SetupPool.SHARED.submitPeerCall(Executors.callable(task));
    }

    /** Makes a way to an address. <em>May block</em>. */
    AddressHandle handle(InetAddress remote) throws VerbsException {
        return domain.createAddressHandle(place.port(), new QueuePairAttributes.Path(gid(remote), place.gidIndex()));
    }

    /**
     * Sends at most {@link #mostBytes} to a peer that has begun a send ({@link DatagramPeer#begin}) and is told when it
     * completes; false if it was not sent. Throws if this is a virtual thread and was interrupted while the queue was
     * full.
     */
    boolean send(DatagramPeer peer, int number, MemorySegment data) throws InterruptedIOException {
        boolean posted = false;
        int error = QueuePair.POSTED;
        sending.lock();
        try {
            if (awaitSlot()) {
                int slot = freeSlots[freeCount - 1];
                error = post(slot, peer, number, data);
                posted = error == QueuePair.POSTED;
                if (posted) {
                    freeCount--;
                    users[slot] = peer;
                }
            }
        } finally {
            sending.unlock();
            if (!posted) {
                peer.sent();
            }
        }
        if (error != QueuePair.POSTED) {
            FAILURES.warn("[{}] ibv_post_send: {} ({}), to {}", local, Errno.of(error), error, peer.address);
        }
        return posted;
    }

    private int post(int slot, DatagramPeer peer, int number, MemorySegment data) {
        AddressHandle handle = peer.handle();
        if (handle == null) {
            return Errno.EINVAL.number();
        }
        long at = SENDS_AT + (long) slot * DatagramWire.MOST_BYTES;
        int headerBytes = DatagramWire.headerBytes(local.getAddress());
        int length = headerBytes + (int) data.byteSize();
        MemorySegment packet = region.segment().asSlice(at, length);
        DatagramWire.writeHeader(packet, local);
        MemorySegment.copy(data, 0, packet, headerBytes, data.byteSize());
        return pair.postSend(request.send(SEND | slot).add(region, at, length)
                .to(handle, number, DatagramWire.QUEUE_KEY).signalled());
    }

    /** Waits until a send can be posted, with the lock held; false if this is closed, or the device is stuck. */
    private boolean awaitSlot() throws InterruptedIOException {
        long deadline = 0;
        while (freeCount == 0 && !closed) {
            sending.unlock();
            try {
                takeCompletions();
            } finally {
                sending.lock();
            }
            if (freeCount > 0 || closed) {
                break;
            }
            deadline = deadline == 0 ? System.nanoTime() + STUCK_NANOS : deadline;
            if (InterruptibleWait.await(nanos -> slotFree.awaitNanos(nanos) > 0 ? true : null, deadline) == null) {
                return freeCount > 0 && !closed;
            }
        }
        return !closed;
    }

    /** Poller thread: an armed queue has news. */
    private void onEvent() {
        try {
            queue.requestNotification();
            if (takeCompletions()) {
                engine.poller().execute(this::onEvent);
            }
        } catch (VerbsException e) {
            fail(e.getMessage());
        } catch (RuntimeException | Error e) {
            fail(e instanceof Error ? "taking completions was cut short by an Error" : e.toString());
            throw e;
        }
    }

    /** Takes the completions that are there; true if there may be more. */
    private boolean takeCompletions() {
        String failure = null;
        receiving.lock();
        try {
            for (int i = 0; i < MOST_BATCHES && failure == null && !closed; i++) {
                int count = queue.poll(batch);
                for (int j = 0; j < count && failure == null && !closed; j++) {
                    failure = complete(j);
                }
                if (count < BATCH) {
                    return false;
                }
            }
            return failure == null && !closed;
        } catch (VerbsException e) {
            failure = e.getMessage();
            return false;
        } catch (RuntimeException | Error e) { // the rest of the batch is lost, also in a thread that sends
            failure = e.toString();
            throw e;
        } finally {
            receiving.unlock();
            if (failure != null) {
                fail(failure);
            }
        }
    }

    /** Applies one completion; null, or how it has failed. */
    private String complete(int index) throws VerbsException {
        long id = batch.workRequestId(index);
        int status = batch.status(index);
        if (status != 0) {
            WorkCompletionStatus named = WorkCompletionStatus.of(status);
            return "a " + ((id & SEND) != 0 ? "send" : "receive") + " failed: " + named + " (" + status + "), "
                    + named.hint();
        } else if ((id & SEND) != 0) {
            free((int) (id ^ SEND));
        } else {
            received((int) id, index);
            postReceive((int) id);
        }
        return null;
    }

    private void free(int slot) {
        DatagramPeer user;
        sending.lock();
        try {
            user = users[slot];
            users[slot] = null;
            freeSlots[freeCount] = slot;
            freeCount++;
            slotFree.signal();
        } finally {
            sending.unlock();
        }
        user.sent();
    }

    private void received(int slot, int index) {
        int length = batch.lengthBytes(index);
        MemorySegment packet = length >= AddressHandle.ROUTING_HEADER_BYTES && length <= RECEIVE_BYTES
                && batch.hasRoutingHeader(index) ? region.segment().asSlice((long) slot * RECEIVE_BYTES, length) : null;
        InetSocketAddress source = packet == null ? null : DatagramWire.source(packet, local.getAddress());
        if (source == null) {
            receiver.dropped();
            return;
        }
        int begin = AddressHandle.ROUTING_HEADER_BYTES + DatagramWire.headerBytes(local.getAddress());
        byte[] data = receiver.hasRoom(length - begin) ? packet.asSlice(begin).toArray(ValueLayout.JAVA_BYTE) : null;
        receiver.take(source, batch.sourceQueuePairNumber(index), data);
    }

    private void postReceive(int slot) throws VerbsException {
        int error = pair.postReceive(receive.receive(slot).add(region, (long) slot * RECEIVE_BYTES,
                AddressHandle.ROUTING_HEADER_BYTES + MOST_PACKET_BYTES));
        if (error != QueuePair.POSTED) {
            throw new VerbsException("ibv_post_recv", Errno.of(error), "qp=" + number());
        }
    }

    private void channelFailed(VerbsException e) {
        fail(e.getMessage());
    }

    private void pollerFailed(VerbsException e) {
        boolean silent = !closed;
        fail(e.getMessage());
        if (silent) {
            receiver.failed(e);
        }
    }

    private void fail(String reason) {
        if (!closed) {
            FAILURES.warn("[{}] the queue pair for datagrams on {} is closed, the next one gets another: {}", local,
                    deviceName(), reason);
        }
        close();
    }

    /** Frees everything, in the background. */
    void close() {
        receiving.lock();
        sending.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            slotFree.signalAll();
        } finally {
            sending.unlock();
            receiving.unlock();
        }
        engine.poller().forget(pollerFailed);
        engine.poller().removeSource(channel);
        SetupPool.SHARED.execute(this::destroy);
    }

    private void destroy() {
        made.close(); // the queue pair first: after that nothing is under way
        for (DatagramPeer user : users) {
            if (user != null) {
                user.sent();
            }
        }
    }
}
