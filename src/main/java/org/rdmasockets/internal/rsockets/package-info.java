/**
 * The byte stream protocol of rsockets (librdmacm), version 1, and two other ways to carry such a stream, as a state
 * machine without input and output of its own.
 *
 * <p>One {@link org.rdmasockets.internal.rsockets.StreamConnection} is one end of an established connection.
 * Completions go in ({@code onCompletion}), work requests come out (posts to a
 * {@link org.rdmasockets.verbs.QueuePair}), and bytes pass through {@code read} and {@code write}, which never wait:
 * they say that nothing is there now.
 *
 * <p>The ways differ behind one seam, {@code Flow}: how bytes get to the peer, and how each end learns how much room
 * the other has. {@code CreditRing} is rsockets' own, {@code SendReceive} sends messages, {@code ReadRing} reads how
 * far the peer is. The end that connects proposes one in its private data, see {@link
 * org.rdmasockets.internal.rsockets.ConnectData}; with C it is always rsockets' own.
 *
 * <p>How that works: each end lends the other one pieces of its receive ring (<em>chunks</em>), announced by
 * writing their address, key and length into a table in the other's memory. Data is pushed by RDMA writes into the
 * current chunk; each push also consumes one posted receive and delivers a 32-bit message. So a sender has two budgets:
 * bytes left in chunks, and <em>credits</em>, the number of data messages. InfiniBand and RoCE carry the message as
 * immediate data of the write. iWARP has none: there a 4-byte send follows the write.
 *
 * <p>Bytes need not be copied: {@link org.rdmasockets.internal.rsockets.DirectSender} sends from memory of the
 * application, and {@code StreamConnection.view} lends what has arrived. Beside the stream,
 * one end maps memory ({@link org.rdmasockets.internal.rsockets.MemoryMapper}) and the other writes to it, without
 * messages.
 *
 * <p>The peer is hostile until checked. It can write at any time into the one region it has a key for, which holds the
 * table and the ring and nothing else; what is read from there is copied once, then checked. A violation of the
 * protocol ends the connection as a {@link org.rdmasockets.internal.rsockets.StreamFailure} and harms nothing else.
 *
 * <p>Threads: no object here is thread-safe; the owner calls under one lock. Nothing here waits, looks at a clock, logs
 * or starts a thread, and nothing is allocated per message. The owner kills the queue pair, keeps deadlines and frees
 * memory.
 *
 * <p>Source: behaviour of librdmacm's rsocket.c (rdma-core 44 to 65), observed from outside; comments name the rule of
 * the protocol they keep.
 */
package org.rdmasockets.internal.rsockets;
