/**
 * Sockets over RDMA with the shape of {@code java.net}: blocking calls, one virtual thread per connection.
 *
 * <p>{@link org.rdmasockets.RdmaSocket} and {@link org.rdmasockets.RdmaServerSocket} are a {@link java.net.Socket} and
 * a {@link java.net.ServerSocket}, so any code that takes those takes these. Between them and {@code java.net} stands
 * {@code internal.socket.RdmaSocketImpl}, which holds the life of a socket (bound, connecting, connected, closed), its
 * options and the rules of {@code java.net}: who may wait, what a timeout counts, what the exceptions say. The streams
 * are those of {@code java.net.Socket}, which add closing by interrupt and JFR events.
 *
 * <p>Any thread may call anything. Virtual threads park while they wait; platform threads may be used as well.
 *
 * <p>This package moves no bytes itself and knows no device: {@code selection} gives it connections, whose transport it
 * does not see, and {@code provider} only tells what devices there are.
 */
package org.rdmasockets;
