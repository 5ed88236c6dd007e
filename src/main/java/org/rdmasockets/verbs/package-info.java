/**
 * Typed verbs: what an RDMA device is asked to do, in words, with no word on how it is done.
 *
 * <p>Here are contracts (interfaces that a provider implements) and values (records, enums and reusable requests).
 * A program opens a {@link org.rdmasockets.verbs.Device}, allocates a {@link org.rdmasockets.verbs.ProtectionDomain},
 * registers memory as a {@link org.rdmasockets.verbs.MemoryRegion}, makes a
 * {@link org.rdmasockets.verbs.CompletionQueue} and a {@link org.rdmasockets.verbs.QueuePair}, connects it by a
 * {@link org.rdmasockets.verbs.ConnectionIdentifier}, posts requests and polls completions. Queue pairs may take their
 * receives from one {@link org.rdmasockets.verbs.SharedReceiveQueue}, send datagrams by an
 * {@link org.rdmasockets.verbs.AddressHandle}, give a peer a part of a region by a
 * {@link org.rdmasockets.verbs.MemoryWindow}, and be connected by hand ({@link org.rdmasockets.verbs.GidChoice},
 * {@link org.rdmasockets.verbs.QueuePairAttributes}). Names are those of the InfiniBand specification; the C name
 * stands in the first sentence of each description.
 *
 * <p>Threads: every method may be called by any thread at any time, also beside or after {@code close()}: a closed
 * object refuses and never touches freed memory. Posts to one queue pair are executed one after another, and so are
 * polls of one completion queue. Methods marked <em>may block</em> make system calls that can take milliseconds or
 * longer; virtual threads should leave those to a platform thread, because a native call pins its carrier.
 *
 * <p>Lifetime: every object is {@code AutoCloseable}, {@code close()} is idempotent, and a child holds its parent, so
 * that a parent closed first is destroyed after its last child: queue pair, completion queue, channel, memory region,
 * protection domain, device.
 *
 * <p>Errors: control calls throw {@link org.rdmasockets.verbs.VerbsException}, which names the C call, the errno, the
 * arguments and a remedy. The data path returns numbers; {@link org.rdmasockets.verbs.WorkCompletionException} and
 * {@link org.rdmasockets.verbs.ErrorClass} say what caused a number and what to do. Each feature that a device may lack
 * is a {@link org.rdmasockets.verbs.Capability}; ask for it before use.
 *
 * <p>This package depends on {@code java.base} alone and knows nothing of its implementations. The part of a provider
 * that no program needs is in {@code org.rdmasockets.verbs.spi}.
 */
package org.rdmasockets.verbs;
