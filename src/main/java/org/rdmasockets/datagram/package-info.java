/**
 * Datagrams: what comes over several transports waits in one place, and what goes is sent over the first transport that
 * leads to its destination.
 *
 * <p>{@link org.rdmasockets.datagram.DatagramInbox} keeps what has come, up to a number of bytes, and lets receivers
 * wait. {@link org.rdmasockets.datagram.DatagramWays} decides for each destination, as {@code choice} does for streams,
 * and sends over shared memory; what it does not send goes over the UDP socket above. Data is memory segments: who does
 * not want {@code DatagramPacket} needs none.
 *
 * <p>Threads: any thread may call anything. A receiver waits in the inbox; those who bring datagrams never wait there,
 * but the thread that reads the UDP socket, whose further datagrams wait in the kernel.
 */
package org.rdmasockets.datagram;
