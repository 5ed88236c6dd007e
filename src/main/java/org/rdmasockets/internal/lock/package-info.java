/**
 * Locks, room between fields that threads on several processors write, objects by numbers, threads of the library, and
 * the count of rescues: for {@code waiting}, the shared-memory device and others, which do not know each other.
 * {@link org.rdmasockets.internal.lock.SmallMutex} is small, for objects of which each connection has its own;
 * {@link org.rdmasockets.internal.lock.PaddedLock} and {@link org.rdmasockets.internal.lock.Padded} are large, for
 * those of a completion queue.
 *
 * <p>Threads: any. This package knows nothing of RDMA.
 */
package org.rdmasockets.internal.lock;
