/**
 * Datagrams: arrivals over several transports wait in one place, and each datagram is sent over the first transport
 * that leads to its destination.
 *
 * <p>{@link org.rdmasockets.internal.datagram.DatagramInbox} keeps arrivals, up to a number of bytes. A receiver waits
 * as the reader of a stream does, at a completion queue of shared memory ({@code internal.waiting}): so it may poll for
 * itself what other processes send. {@link org.rdmasockets.internal.datagram.DatagramWays} decides for each
 * destination, as {@code selection} does for streams, and sends over shared memory, or has {@code IbverbsDatagrams}
 * send over an RDMA device; what it does not send goes over the UDP socket above. Data is memory segments: callers that
 * do not want {@code DatagramPacket} need none.
 *
 * <p>Over RDMA devices a {@code DatagramQueue} is a queue pair at one address of this host, a {@code DatagramPeer} the
 * knowledge about a peer that is reached so, and {@code DatagramWire} the layout of rsockets. The engine's poller takes
 * arrivals to the inbox.
 *
 * <p>Threads: any thread may call anything. A receiver waits in the inbox; the threads that bring datagrams never wait
 * there, but the one that reads the UDP socket, whose further datagrams wait in the kernel. Work that may wait for a
 * peer or the kernel, such as making queue pairs and address handles, runs on the set-up pool.
 */
package org.rdmasockets.internal.datagram;
