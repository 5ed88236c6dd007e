/**
 * One connection, one listener, and the engine under both: protocol, memory and waiting come together here.
 *
 * <p>A {@link org.rdmasockets.internal.connection.Connection} goes over verbs or over TCP, and so does a
 * {@link org.rdmasockets.internal.connection.Listener}, which leaves its connections in an
 * {@link org.rdmasockets.internal.connection.AcceptQueue}. Over TCP an ordinary {@code java.net.Socket} does
 * everything. The rest is verbs, with one {@link org.rdmasockets.internal.connection.Engine} for each provider.
 *
 * <p>{@link org.rdmasockets.internal.connection.Binding} takes a local address and turns into either a connection or a
 * listener, which makes further ones. Each is a {@link org.rdmasockets.internal.connection.VerbsConnection}, which owns
 * how it begins, is watched, lingers and ends, and a {@link org.rdmasockets.internal.connection.Protocol} that goes
 * over it: the byte stream of {@link org.rdmasockets.internal.connection.StreamTransport}, or the messages of the
 * package {@code endpoint}. A stream joins its memory, the protocol state machine ({@code rsockets}) and the
 * completions that drive it ({@code waiting}), which know nothing of each other. A read enters the inbox, which takes
 * the protocol lock and applies what has arrived, asks the state machine for bytes, and waits in the inbox if there are
 * none.
 *
 * <p>The transfers of a connection that copy nothing are its
 * {@link org.rdmasockets.internal.connection.ZeroCopyTransfers}, made when they are asked for. Memory that an
 * application sees never becomes another connection's; or the application sees it through an arena that ends before.
 *
 * <p>Threads: the caller's own, virtual or platform; each engine's poller, which dispatches and starts what was
 * accepted; the platform thread that waits in each TCP listener's accept; and the one set-up pool of two threads, where
 * the calls run that may block in the kernel while no thread waits for them (accepting, registering more memory,
 * tearing down) or that may wait for a peer (connecting over iWARP). A thread that connects makes the resources itself
 * while the kernel looks for the route, and waits twice, for the route and for the answer. A virtual thread holds its
 * carrier while it makes them: so only one at a time does, and the pool makes those of the others. Where a provider has
 * no calls that block ({@code TransportProvider.mayBlock}), the caller's thread and the poller set up and tear down
 * themselves, so that a connect waits once. Nothing here holds a lock while it waits, except the callers' own.
 *
 * <p>Lifetime: a connection is kept by the engine's registry from its set-up until its teardown has ended, whatever the
 * application does with its socket; teardown takes one order: queue pair, memory regions, protection domain,
 * identifier.
 *
 * <p>This package turns verbs errors into the exceptions of {@code java.net}. It knows nothing of the
 * sockets above, and of no provider in particular.
 */
package org.rdmasockets.internal.connection;
