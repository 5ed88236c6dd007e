/**
 * The choice of a transport: for a connect, the first that leads to the peer; for a server socket, all that there are.
 *
 * <p>{@link org.rdmasockets.internal.selection.Connector} connects. {@code Policy} decides which transport to use: the
 * one of the socket's own option, else of the first rule that matches, else of a system property, else {@code auto}.
 * Where that is {@code auto}, the providers of verbs are tried in their order, each only if a look at the routing table
 * and the devices says that it may succeed, for a short time, and not again for a while after it failed
 * ({@code FailureCache}). TCP comes last. iWARP is never tried unasked: it would send its preamble to any TCP server at
 * that port.
 *
 * <p>{@link org.rdmasockets.internal.selection.Acceptor} listens on one port number of TCP and of every provider at
 * once, and gives connections in the order in which they come. Engines are ready first, then all ports are taken, then
 * it listens, over TCP last: a client that tries again and again never meets a server that only TCP reaches.
 *
 * <p>Every connection is logged with its transport and the reason, and counted. Any thread may call anything; nothing
 * here waits but {@code connect} and {@code accept}. This package moves no bytes.
 */
package org.rdmasockets.internal.selection;
