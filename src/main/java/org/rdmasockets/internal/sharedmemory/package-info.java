/**
 * Verbs over memory that processes of one host share: the device that is always there.
 *
 * <p>{@link org.rdmasockets.internal.sharedmemory.SharedMemoryProvider} is the way in. A write, read or atomic is a
 * copy that the initiator makes, inside its post ({@code SendQueue}); a send fills the oldest receive of the other end
 * ({@code ReceiveQueue}). Both put completions into queues of private memory ({@code SharedMemoryCompletionQueue}).
 * {@code Peer} is the other end as the send queue sees it: {@code LocalPeer} inside this process, {@code RemotePeer} in
 * another one; the former leaves writes with immediate data to the thread that polls there ({@code WriteQueue}).
 * {@code ConnectionPeer} is the same for connecting and disconnecting. Keys, bounds, access flags and lengths are
 * checked as a network card does it, with the same errors. One error differs: between processes, a send that is too
 * long for the peer's receive has completed here by the time the peer finds out, and both queue pairs break. Receives
 * may be shared ({@code SharedMemorySharedReceiveQueue}). Datagrams of queue pairs ({@code DatagramQueuePair}) stay
 * within this process; those of sockets go to others, too ({@code DatagramPorts}).
 *
 * <p>Between processes two kinds of writes with immediate data cost less. A write may join the write before it, until
 * the peer has taken that. And the first writes of a connection bring their bytes in their entries, if they come from
 * arrays and have the hint {@code SendHints.RELAXED}; the peer copies the bytes. So an idle connection maps no memory
 * of the other process.
 *
 * <p>Entries from another process come in by {@code LinkDispatcher}, which believes nothing: an entry that an honest
 * process never writes ends that link, and with it the connections to that process alone.
 *
 * <p>Threads: any thread may call anything; no thread belongs to this package. A thread that waits with an event poller
 * answers the doorbells of other processes, and a thread that polls a completion queue empties rings full of entries.
 * Locks, in the order in which they are taken: consumer of a link, identifier, send queue, arrivals, receive queue of
 * the other end, shared receive queue, all links, queues of a link, completion queue. Two send queues are never locked
 * by one thread.
 *
 * <p>This package knows nothing of sockets.
 */
package org.rdmasockets.internal.sharedmemory;
