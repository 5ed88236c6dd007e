/**
 * RDMA itself, with plain blocking calls: messages, the peer's memory, leases of it.
 *
 * {@snippet lang="java" :
 * try (RdmaEndpointServer server = RdmaEndpoint.builder().listen(7471)) {
 *     RdmaEndpoint endpoint = server.accept();
 *     Message message = endpoint.receive();
 * }
 * try (RdmaEndpoint endpoint = RdmaEndpoint.builder().connect("10.0.0.1", 7471);
 *         LocalRegion region = endpoint.allocate(1 << 20);
 *         RemoteLease lease = endpoint.requestRemote(1 << 20)) {
 *     endpoint.send(region);
 *     endpoint.write(region, lease.region());
 * }
 * }
 *
 * <p>An {@link org.rdmasockets.endpoint.RdmaEndpoint} is one end of a reliable connection. Below it, from the outside
 * inwards: {@code Settings} finds a provider, {@code EndpointProtocol} is the protocol that goes over a connection and
 * takes in what arrives. Operations go through {@code SendSide}, in rows that do not wait for each other: control,
 * messages, and what touches the peer's memory. Arrivals go through {@code ReceiveSide} into {@code Mailbox}es. A
 * {@code Lender} knows what this end lends, a {@code Borrower} what the peer lends, and {@code Domain} and
 * {@code Block} own the memory. The engine, dialing, listening and waiting are those of the sockets; a
 * {@code SharedWaiter} lets many threads wait where the inbox has room for one.
 *
 * <p><b>The wire</b>, version 1: a {@code Greeting} in the private data of the connection manager, then messages over
 * SEND and RECV, each of which begins with a {@code Header}. Data (messages in pieces, shared and handed over leases,
 * and writes with immediate data) and control (all others) have credits of their own: each end says in its greeting how
 * many of either it takes, and in every header how many it has taken in. Data is taken in when the application takes
 * it, so that a slow receiver holds up its sender and nothing else; control is taken in as it comes, so that leases are
 * served and credits come even if no thread calls {@code receive}. Pieces of one message follow each other, and control
 * may come between them. A message of {@code startRendezvous} is one header, which names memory of its sender: the
 * receiver reads it by RDMA READ when the application takes it, and says so by a control message. After a close nothing
 * is read any more. How long a lease lasts travels as what is left of it, never as a time of day. A violation of a rule
 * ends that connection, with an exception that names the rule.
 *
 * <p>Memory is the device's from the beginning of an operation until its completion, or until the queue pair is gone,
 * whatever its caller does meanwhile; {@code RangeLocks} remembers. A region that a peer may reach is a registration of
 * its own, because a key opens all of its registration; it is deregistered when its lease ends. The memory of a
 * connection that this end has closed may be another's soon: no application looks at what has arrived from then on, and
 * the connection itself at headers alone, while its queue pair is there. Only what the application does I/O with stays
 * registered until that is over.
 *
 * <p>Threads: the caller's own, virtual or platform, and the set-up pool for what may block in the kernel. State is
 * protected by the protocol lock of the connection's inbox, which no thread holds while it waits.
 */
package org.rdmasockets.endpoint;
