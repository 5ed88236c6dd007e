/**
 * One connection, one listener, and the engine under both: the glue that waits.
 *
 * <p>{@link org.rdmasockets.transport.Binding} takes a local address and turns into either a
 * {@link org.rdmasockets.transport.StreamTransport} (connect) or a {@link org.rdmasockets.transport.Listener}, which
 * gives further ones (accept). A stream transport joins three things that know nothing of each other: the verbs of one
 * connection ({@code Resources}), the protocol state machine ({@code stream}) and the completions that drive it
 * ({@code completion}). A read enters the inbox, which takes the protocol lock and applies what has arrived, asks the
 * state machine for bytes, and waits in the inbox if there are none.
 *
 * <p>Threads: the caller's own, virtual or platform; the poller, which only dispatches; and the set-up pool of two
 * threads, where every call runs that may block in the kernel (making and destroying queue pairs, registering memory,
 * connecting over iWARP). Nothing here holds a lock while it waits, except the callers' own.
 *
 * <p>Lifetime: a connection is kept by the engine's registry from its set-up until its teardown has ended, whatever the
 * application does with its socket; teardown always runs on the set-up pool, in one order: queue pair, memory regions,
 * protection domain, identifier.
 *
 * <p>This package turns verbs errors into the exceptions of {@code java.net}. It knows nothing of
 * {@code java.net.Socket} and of no provider in particular.
 */
package org.rdmasockets.transport;
