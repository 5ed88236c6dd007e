package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The completion queues of one device, all on one channel. The first is small, for a program with a few connections;
 * each further one is four times as large, up to a bound, so that thousands of connections need few. One empty queue of
 * each side is kept; a second one is destroyed. All methods may block: the device makes and destroys queues in system
 * calls.
 */
final class DeviceShards implements Runnable, Predicate<CompletionQueue>, Consumer<CompletionQueue> {
    private static final Log LOG = new Log(DeviceShards.class);
    private static final int GROWTH = 4;

    private final CompletionPoller poller;
    private final Device device;
    private final CompletionChannel channel;
    /** Guarded by this monitor. */
    private final List<CompletionShard> shards = new ArrayList<>();
    /** Size of the next queue; guarded by this monitor. */
    private int nextEntries;

    /** Makes the channel of a device; its queues are made when needed. */
    DeviceShards(CompletionPoller poller, Device device) throws VerbsException {
        this.poller = poller;
        this.device = device;
        this.nextEntries = poller.settings.firstQueueEntries();
        this.channel = device.createCompletionChannel();
        channel.onPost(this);
        poller.addSource(channel, this);
    }

    /** Poller thread: the channel has events. */
    @Override
    public void run() {
        try {
            channel.drainEvents(this);
        } catch (VerbsException e) {
            // It would be reported ready for ever.
            poller.removeSource(channel);
            failAll(e);
        }
    }

    /** Poller thread: an event of a queue. */
    @Override
    public void accept(CompletionQueue queue) {
        poller.onEvent(queue);
    }

    /** Any thread, which has made an event of a queue by a post. */
    @Override
    public boolean test(CompletionQueue queue) {
        return poller.onPost(queue);
    }

    /** A shard with room for so many entries, a new one if need be; if none can be made, one of the other side. */
    synchronized CompletionShard find(ConnectionRole side, int entriesNeeded) throws VerbsException {
        CompletionShard others = null;
        for (CompletionShard shard : shards) {
            if (shard.room() >= entriesNeeded) {
                if (shard.side == side) {
                    return shard;
                }
                others = shard;
            }
        }
        try {
            return create(side, entriesNeeded);
        } catch (VerbsException e) {
            if (others == null || poller.failure() != null) {
                throw e;
            }
            LOG.debug("{}: no completion queue for the {} side alone: {}", device.info().name(), side, e.getMessage());
            return others;
        }
    }

    /** An open inbox in a shard that has room. */
    CompletionInbox openInbox(ConnectionRole side, CompletionClient client, int maxOutstanding) throws VerbsException {
        while (true) {
            CompletionInbox inbox = find(side, maxOutstanding).tryOpenInbox(client, maxOutstanding);
            if (inbox != null) {
                return inbox;
            }
        }
    }

    private CompletionShard create(ConnectionRole side, int entriesNeeded) throws VerbsException {
        if (poller.failure() != null) {
            throw CompletionPoller.refusal(poller.failure());
        }
        DeviceAttributes limits = device.attributes();
        int most = limits.maxCompletionQueueEntries();
        if (entriesNeeded > most) {
            throw new VerbsException("ibv_create_cq", Errno.EINVAL.number(), "entriesNeeded=" + entriesNeeded + ", max="
                    + most, "choose smaller queues for the connection");
        }
        if (shards.size() >= limits.maxCompletionQueues()) {
            throw new VerbsException("ibv_create_cq", Errno.ENOMEM.number(), "completionQueues=" + shards.size()
                    + ", max=" + limits.maxCompletionQueues(), device.info().name()
                    + " has no room for more connections; close some, or choose smaller queues");
        }
        CompletionQueue queue = createQueue(Math.min(most, Math.max(nextEntries, entriesNeeded)), entriesNeeded);
        nextEntries = Math.min(GROWTH * nextEntries, poller.settings.maxQueueEntries());
        CompletionShard shard = new CompletionShard(this, poller, queue, side);
        poller.register(shard);
        shards.add(shard);
        shard.armIfNeeded(); // on a connection that only writes, perhaps no thread ever waits
        LOG.debug("{}: completion queue {} with {} entries", device.info().name(), shards.size(), queue.entries());
        return shard;
    }

    /** A queue of the wanted size, or if the device refuses that, of just the needed one. */
    private CompletionQueue createQueue(int entries, int entriesNeeded) throws VerbsException {
        try {
            return device.createCompletionQueue(entries, channel);
        } catch (VerbsException e) {
            if (entries == entriesNeeded || e.errno() != Errno.ENOMEM) {
                throw e;
            }
            return device.createCompletionQueue(entriesNeeded, channel);
        }
    }

    /** Destroys the queue of a shard without inboxes, if another one of its side is empty as well. */
    void closeIfSuperfluous(CompletionShard shard) {
        synchronized (this) {
            boolean another = false;
            for (CompletionShard other : shards) { // not a stream: that is garbage whenever a connection ends
                another |= other != shard && other.side == shard.side && other.isVacant() && other.failure() == null;
            }
            if (!another && shard.failure() == null || !shard.tryClose() || !shards.remove(shard)) {
                return;
            }
        }
        poller.unregister(shard);
        shard.queue().close();
        LOG.debug("{}: destroyed an empty completion queue", device.info().name());
    }

    /** Fails every inbox of the device. */
    void failAll(Throwable cause) {
        List<CompletionShard> all;
        synchronized (this) {
            all = List.copyOf(shards);
        }
        for (CompletionShard shard : all) {
            shard.fail(cause);
        }
    }

    /** Destroys the queues and the channel, except those that a queue pair still uses. */
    void close() {
        List<CompletionShard> all;
        synchronized (this) {
            all = List.copyOf(shards);
        }
        for (CompletionShard shard : all) {
            shard.queue().close();
        }
        channel.close();
    }
}
