/**
 * Verbs over memory that processes of one host share: the device that is always there.
 *
 * <p>{@link org.rdmasockets.provider.sharedmemory.SharedMemoryProvider} is the way in. A write, read or atomic is a
 * copy that the initiator makes, inside its post ({@code SendQueue}); a send fills the oldest receive of the other end
 * ({@code ReceiveQueue}). Both put completions into queues of private memory ({@code SharedMemoryCompletionQueue}).
 * {@code Peer} is the other end as the send queue sees it. Keys, bounds, access flags and lengths are checked as a
 * network card does it, with the same errors.
 *
 * <p>Threads: any thread may call anything; no thread belongs to this package. Locks, in the order in which they are
 * taken: send queue, receive queue of the other end, completion queue. Two send queues are never locked by one thread.
 *
 * <p>This package knows nothing of sockets.
 */
package org.rdmasockets.provider.sharedmemory;
