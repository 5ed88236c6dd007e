package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.rdmasockets.internal.lock.Padded;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * A completion queue in the private memory of this process: nothing of it is shared, so no peer can forge a completion.
 * Its arrays begin small and grow to the number of entries. The monitor is held for a few instructions and is the last
 * lock that is taken: a holder takes no other.
 */
final class SharedMemoryCompletionQueue extends Padded implements CompletionQueue {
    private static final int FIRST_CAPACITY = 16;

    private final SharedMemoryDevice device;
    private final SharedMemoryCompletionChannel channel;
    /** Most completions; guarded by this. */
    private int entries;
    /** Entries promised to queue pairs, the retired ones included; guarded by this. */
    private int reserved;
    /** Entries of closed queue pairs that completions may still occupy; written under the monitor. */
    private volatile int retired;
    /** A ring of completions from {@link #head}; guarded by this. */
    private SharedMemoryWorkCompletions completions;
    /** The room that each completion occupies; guarded by this. */
    private QueueRoom[] rooms;
    private int head;
    /**
     * The writes that senders of this process left to the polling thread; also whether this is armed, which is set
     * under the monitor.
     */
    final WriteQueue arrivals = new WriteQueue();
    /**
     * The batch of a thread that polls, which fills it with what senders left and links bring; else null; of several
     * threads that poll, one of theirs or null. A completion goes past the ring only into its own thread's batch.
     */
    private SharedMemoryWorkCompletions polled;
    /** Links that may bring completions; replaced, never changed; written under the monitor. */
    private volatile LinkDispatcher[] links = {};
    /**
     * How many completions there are; guarded by this, and read without it to find an empty queue cheaply: a thread
     * that has armed the queue, or was told of an event, has been in the monitor, or hears from a thread that was.
     */
    private int count;
    volatile boolean closed;
    /** Events in the channel, and which queue comes after this one there; guarded by the channel. */
    int events;
    SharedMemoryCompletionQueue nextWithEvents;

    /** An empty queue of at least 1 entry; its events go to the channel, if any. */
    SharedMemoryCompletionQueue(SharedMemoryDevice device, int entries, SharedMemoryCompletionChannel channel) {
        this.device = device;
        this.entries = entries;
        this.channel = channel;
        completions = new SharedMemoryWorkCompletions(Math.min(entries, FIRST_CAPACITY));
        rooms = new QueueRoom[completions.capacity()];
    }

    /** Promises entries to a queue pair; false if there are not as many. */
    synchronized boolean tryReserve(int wanted) {
        boolean fits = wanted <= entries - reserved;
        if (fits) {
            reserved += wanted;
        }
        return fits;
    }

    /** Takes back a promise that no queue pair ever used. */
    synchronized void unreserve(int promised) {
        reserved -= promised;
    }

    /** Takes back the promise to a closed queue pair, as soon as the queue was seen empty. */
    synchronized void retire(int promised) {
        retired += promised;
    }

    /**
     * Adds the completion of a request; its room is given back when it is polled. True if the queue was armed: then
     * {@link #report} or {@link #handOver} has to be called.
     */
    synchronized boolean complete(QueueRoom room, long id, int status, CompletionOpcode opcode) {
        int index = append(room);
        completions.set(index, room.queuePairNumber, id, status, opcode);
        return added();
    }

    /** Adds the completion of a receive that was filled, under its queue's lock; what {@link #complete} returns. */
    boolean received(QueueRoom room, long id, CompletionOpcode opcode, int length, boolean hasImmediate,
            int immediate) {
        return !putIntoBatch(room, id, opcode, length, hasImmediate, immediate)
                && add(room, id, opcode, length, hasImmediate, immediate);
    }

    /**
     * Puts a completion into the batch that this thread polls, if it does, and nothing older waits in the ring. A poll
     * that ends by an error loses it, as it loses what it has taken out of the ring.
     */
    private boolean putIntoBatch(QueueRoom room, long id, CompletionOpcode opcode, int length, boolean hasImmediate,
            int immediate) {
        SharedMemoryWorkCompletions batch = polled;
        int index = batch == null || arrivals.isArmed() || count > 0 ? -1 : batch.next();
        if (index < 0) {
            return false;
        }
        batch.set(index, room.queuePairNumber, id, Status.SUCCESS, opcode);
        batch.setReceived(index, length, hasImmediate, immediate);
        room.untake();
        return true;
    }

    private synchronized boolean add(QueueRoom room, long id, CompletionOpcode opcode, int length,
            boolean hasImmediate, int immediate) {
        int index = append(room);
        completions.set(index, room.queuePairNumber, id, Status.SUCCESS, opcode);
        completions.setReceived(index, length, hasImmediate, immediate);
        return added();
    }

    /** Adds the completion of a receive that a datagram filled; returns what {@link #complete} does. */
    synchronized boolean receivedDatagram(QueueRoom room, long id, Datagram datagram) {
        boolean report = add(room, id, CompletionOpcode.RECEIVE, datagram.lengthBytes, datagram.hasImmediate,
                datagram.immediate);
        completions.setSource((head + count - 1) % rooms.length, datagram.source);
        return report;
    }

    /**
     * A link has brought a datagram. If a thread polls this, and so need not be woken, that makes an event as a
     * completion does: whoever handles that decides whether to arm this again. Else this stays armed.
     */
    void broughtDatagram() {
        if (polled == null) {
            return;
        }
        boolean event;
        synchronized (this) {
            event = disarm();
        }
        if (event) {
            report();
        }
    }

    /** Makes an event for the thread that waits for the channel. */
    void report() {
        channel.add(this);
    }

    /** Lets the thread that posted deal with the event; it holds no lock of this device. */
    void handOver() {
        channel.handOver(this);
    }

    /** Counts a completion; true if it has to be reported to the channel. */
    private boolean added() {
        count++;
        return disarm();
    }

    /** Ends the arming, if there is one, by an event; true if that has to be reported. Holds the monitor. */
    private boolean disarm() {
        boolean armed = arrivals.isArmed();
        if (armed) {
            arrivals.armed(false);
        }
        return armed && channel != null;
    }

    /** The place of the next completion; makes room if need be. */
    private int append(QueueRoom room) {
        if (count == rooms.length) {
            grow();
        }
        int index = (head + count) % rooms.length;
        rooms[index] = room;
        return index;
    }

    private void grow() {
        int capacity = Math.max(count + 1, Math.min(entries, 2 * rooms.length));
        SharedMemoryWorkCompletions more = new SharedMemoryWorkCompletions(capacity);
        QueueRoom[] moreRooms = new QueueRoom[capacity];
        for (int i = 0; i < count; i++) {
            int from = (head + i) % rooms.length;
            more.copy(i, completions, from);
            moreRooms[i] = rooms[from];
        }
        completions = more;
        rooms = moreRooms;
        head = 0;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public synchronized int entries() {
        return entries;
    }

    @Override
    public synchronized int unreservedEntries() {
        return entries - reserved;
    }

    @Override
    public WorkCompletions newBatch(int capacity) {
        return new SharedMemoryWorkCompletions(capacity);
    }

    @Override
    public int poll(WorkCompletions batch) {
        SharedMemoryWorkCompletions target = (SharedMemoryWorkCompletions) batch;
        if (closed) {
            return 0;
        }
        if (device.fabric.deadlines.isDue()) {
            device.fabric.deadlines.expire();
        }
        int brought = count < target.capacity() ? takeIn(target) : 0;
        return count == 0 && retired == 0 ? brought : take(target, brought);
    }

    /** Takes in what senders left and links bring; how many completions went into the batch, as its first. */
    private int takeIn(SharedMemoryWorkCompletions target) {
        LinkDispatcher[] all = links;
        if (all.length == 0 && arrivals.isEmpty()) {
            return 0;
        }
        target.beginFilling();
        polled = target;
        try {
            if (!arrivals.isEmpty()) {
                takeInArrivals();
            }
            for (LinkDispatcher link : all) {
                link.poll(); // throws nothing: the completions of the links before it are in the batch
            }
        } finally {
            target.endFilling();
            polled = null; // the same batch may be for another queue next
        }
        return target.filled();
    }

    /** Takes in what senders left until now, and reports that if it is wanted. */
    void takeInArrivals() {
        if (arrivals.takeIn()) {
            report();
        }
    }

    /** Lets the thread that waits for the channel look at all links again. */
    void wake() {
        if (channel != null) {
            channel.signal();
        }
    }

    @Override
    public boolean spin(int looks) {
        LinkDispatcher[] all = links;
        if (device.fabric.deadlines.isDue() || spinHere(all.length == 0 ? looks : 1)) {
            return true;
        }
        for (LinkDispatcher link : all) {
            if (link.spin(all.length == 1 ? looks : 1)) {
                return true;
            }
        }
        return false;
    }

    /** Looks for what is in this queue already. */
    private boolean spinHere(int looks) {
        boolean some = count > 0 || retired > 0 || !arrivals.isEmpty();
        for (int i = 1; i < looks && !some; i++) {
            Thread.onSpinWait();
            some = count > 0 || !arrivals.isEmpty();
        }
        return some;
    }

    /** Takes completions out of the ring, behind those that are in the batch; how many there are together. */
    private synchronized int take(SharedMemoryWorkCompletions target, int before) {
        int taken = Math.min(count, target.capacity() - before);
        for (int i = 0; i < taken; i++) {
            target.copy(before + i, completions, head);
            rooms[head].giveBack();
            rooms[head] = null;
            head = head + 1 == rooms.length ? 0 : head + 1;
        }
        count -= taken;
        if (count == 0 && retired > 0) {
            reserved -= retired;
            retired = 0;
        }
        return before + taken;
    }

    @Override
    public void requestNotification() {
        // Writes that are there already make no event.
        boolean report = !arrivals.isEmpty() && arrivals.takeIn();
        synchronized (this) {
            arrivals.armed(!closed);
        }
        // Between the flag and the look: senders have one between their entry and their look at the flag.
        VarHandle.fullFence();
        report |= !arrivals.isEmpty() && arrivals.takeIn();
        if (report) {
            report();
        }
        // After the flag: a thread that answers a peer's ring looks at it, and keeps the link armed.
        for (LinkDispatcher link : links) {
            link.arm();
        }
    }

    /** Polls and arms a link with this queue. */
    synchronized void attach(LinkDispatcher link) {
        LinkDispatcher[] more = Arrays.copyOf(links, links.length + 1);
        more[links.length] = link;
        links = more;
    }

    /** Undoes {@link #attach}. */
    synchronized void detach(LinkDispatcher link) {
        LinkDispatcher[] all = links;
        int index = 0;
        while (index < all.length && all[index] != link) {
            index++;
        }
        if (index < all.length) {
            LinkDispatcher[] fewer = Arrays.copyOf(all, all.length - 1);
            System.arraycopy(all, index + 1, fewer, index, fewer.length - index);
            links = fewer;
        }
    }

    @Override
    public void resize(int newEntries) throws VerbsException {
        String text = "device=" + device + ", entries=" + newEntries;
        synchronized (this) {
            SharedMemoryErrors.requireOpen(!closed, "ibv_resize_cq", "completion queue");
            if (newEntries < Math.max(1, reserved) || newEntries > SharedMemoryDevice.MAX_COMPLETIONS) {
                throw SharedMemoryErrors.invalid("ibv_resize_cq", text,
                        reserved + " entries are reserved by queue pairs, and "
                        + SharedMemoryDevice.MAX_COMPLETIONS + " are the most");
            }
            entries = newEntries;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        arrivals.armed(false);
        Arrays.fill(rooms, null);
        count = 0;
    }
}
