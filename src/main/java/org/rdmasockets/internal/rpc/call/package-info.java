/**
 * Calls over a connection that carries messages: frames, streams of one call, the client's and the server's end.
 *
 * <p>A {@link org.rdmasockets.internal.rpc.call.Carrier} brings whole messages in order, once each: an endpoint, or a
 * session over datagrams. Each message has one {@link org.rdmasockets.internal.rpc.call.Frame}, over an endpoint one or
 * several, a PART by itself. The first that either end sends is a HELLO with its limits; a client adds its identity, a
 * server its instance. A CALL opens a call and brings its first message, an answer with the LAST flag ends it: a unary
 * call is one frame each way. A server that takes no more calls says GOAWAY, and says it again as its last word, when
 * it has sent the end of all calls that it has begun: a call without an end has not begun. Metadata is a block of bytes
 * in the first and the last frame of a direction. Each direction of a call has a window of bytes, so that a slow reader
 * holds up its call only. A long message goes in PARTs before its frame, if the peer's HELLO says that it takes them,
 * and other frames go between these.
 *
 * <p><b>Threads.</b> No thread is handed a frame that can do its work itself. Callers of a client take turns reading:
 * the one whose turn it is reads for all. A server's reader runs a method that has proved quick itself; before any
 * other it starts the next reader. {@link org.rdmasockets.internal.rpc.call.CallTimer} takes over from a reader whose
 * method is not quick this time.
 *
 * <p><b>Together.</b> No timer holds a frame back. While a reader is about to come, because it works on what has
 * arrived or was unparked to read, frames of others are held, and it sends them in one message before it waits. A
 * sender that finds no reader coming sends them itself.
 *
 * <p><b>At most once.</b> A call that is not declared idempotent has a number of its client. The server remembers
 * answers by it, in {@link org.rdmasockets.internal.rpc.call.ResponseCache}, until the client has said that it has
 * them.
 *
 * <p>Everything that a peer sends is hostile until checked; a violation ends that connection.
 */
package org.rdmasockets.internal.rpc.call;
