/**
 * Locks, and room between what threads on several processors write: what {@code completion} and the shared-memory
 * device, which do not know each other, both need. {@link org.rdmasockets.lock.PlainLock} is small, for objects of
 * which each connection has its own; {@link org.rdmasockets.lock.ApartLock} and {@link org.rdmasockets.lock.Apart} are
 * large, for those of a completion queue.
 *
 * <p>Threads: any. This package knows nothing of RDMA.
 */
package org.rdmasockets.lock;
