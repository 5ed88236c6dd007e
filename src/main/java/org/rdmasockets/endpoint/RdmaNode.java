package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.connection.InterruptibleWait;

/**
 * One of several nodes that know each other by rank, each connected to each. They find each other by TCP, see
 * {@link TcpExchange}, and share their memory among all their connections.
 *
 * <p>{@link #barrier} takes one thread at a time, and all nodes that take part have to call their barriers in the same
 * order. Once one has failed, it is unknown which nodes have passed it: so all further ones fail, too.
 *
 * @since 0.1
 */
public final class RdmaNode implements AutoCloseable {
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final int rank;
    /** By rank; null at the own one. */
    private final RdmaEndpoint[] peers;
    private final CallerLock turn = new CallerLock();
    /** How many barriers there were; protected by turn. */
    private long epoch;
    /** Why there are no barriers any more; null while there are; protected by turn. */
    private Exception poison;

    private RdmaNode(int rank, int size) {
        this.rank = rank;
        peers = new RdmaEndpoint[size];
    }

    /**
     * Finds all other nodes and connects to them. A process that answers, over TCP, at the address that was named for a
     * rank, and knows the {@linkplain RdmaEndpointBuilder#groupSecret secret} if there is one, is that node; a peer
     * that connects and is none of them is refused.
     *
     * @param builder the settings of the endpoints; this has it share a protection domain
     * @param address an address of this node's device
     * @param nodes where each node exchanges addresses over TCP, by rank
     * @param rank of this one
     * @param limit longest time for all of that
     * @return the node
     * @throws IOException {@code SocketTimeoutException} if not all are there in time, and as
     *         {@link RdmaEndpointBuilder#connect} and {@link TcpExchange#exchange}
     */
    public static RdmaNode join(RdmaEndpointBuilder builder, InetAddress address, List<InetSocketAddress> nodes,
            int rank, Duration limit) throws IOException {
        StackRoom.ensure();
        long deadline = NanoTimes.after(limit);
        RdmaNode node = new RdmaNode(rank, nodes.size());
        try (NodeEntrance entrance = new NodeEntrance(builder.sharedProtectionDomain(), address, rank, nodes.size())) {
            List<byte[]> all = TcpExchange.exchange(nodes, rank, entrance, builder.secret(), deadline);
            for (int other = 0; other < rank; other++) {
                node.peers[other] = connect(builder, NodeEntrance.address(all.get(other)), entrance.pass(other),
                        deadline);
            }
            for (int other = rank + 1; other < nodes.size(); other++) {
                node.peers[other] = entrance.await(other, deadline);
            }
            return node;
        } catch (Throwable e) {
            node.end();
            throw e;
        }
    }

    /** Until the time is over: a node that is called by many strangers, too, may refuse for a moment. */
    private static RdmaEndpoint connect(RdmaEndpointBuilder builder, InetSocketAddress lower, byte[] pass,
            long deadlineNanos) throws IOException {
        while (true) {
            try {
                return builder.connectUntil(lower, pass, deadlineNanos);
            } catch (ConnectException e) {
                if (NanoTimes.remaining(deadlineNanos) < RETRY_NANOS) {
                    throw e;
                }
            }
            InterruptibleWait.await(nanos -> {
                TimeUnit.NANOSECONDS.sleep(Math.min(nanos, RETRY_NANOS));
                return true;
            }, deadlineNanos);
        }
    }

    /** {@return the rank of this node, from 0 on} */
    public int rank() {
        return rank;
    }

    /** {@return how many nodes there are, at least 1} */
    public int size() {
        return peers.length;
    }

    /**
     * The connection to another node.
     *
     * @param other its rank
     * @return the endpoint
     * @throws IllegalArgumentException if there is none, or it is this
     */
    public RdmaEndpoint peer(int other) {
        if (other < 0 || other >= peers.length || other == rank) {
            throw new IllegalArgumentException("there is no other node of rank " + other + " among " + peers.length);
        }
        return peers[other];
    }

    /**
     * All other nodes, by rank.
     *
     * @return a group
     * @throws IllegalArgumentException if there are none
     */
    public RdmaGroup others() {
        List<RdmaEndpoint> others = new ArrayList<>(Arrays.asList(peers));
        others.remove(rank);
        return new RdmaGroup(others);
    }

    /**
     * Waits until all nodes have come here.
     *
     * @param limit longest wait
     * @throws IOException as {@link #barrier(BarrierKind, List, Duration)}
     */
    public void barrier(Duration limit) throws IOException {
        barrier(BarrierKind.DISSEMINATION, IntStream.range(0, peers.length).boxed().toList(), limit);
    }

    /**
     * Waits until some nodes have come here.
     *
     * @param kind how they find out; the same for all
     * @param ranks the nodes that take part, in ascending order, this one among them; the same for all
     * @param limit longest wait
     * @throws IOException {@code SocketTimeoutException} if not all have come in time, {@link EndpointException} if one
     *         is gone, or is at another barrier, or a barrier has failed before
     * @throws IllegalArgumentException if the ranks are not in order, not known, or this one is not among them
     */
    public void barrier(BarrierKind kind, List<Integer> ranks, Duration limit) throws IOException {
        StackRoom.ensure();
        check(ranks);
        long deadline = NanoTimes.after(limit);
        if (!InterruptibleWait.lock(turn, deadline)) {
            throw new SocketTimeoutException("another thread of this node is at a barrier");
        }
        try {
            ensureNotPoisoned();
            epoch++;
            try {
                pass(kind, ranks, deadline);
            } catch (Throwable e) {
                poison = new EndpointException(EndpointException.Reason.POISONED, "barrier " + epoch + " failed");
                throw e;
            }
        } finally {
            turn.unlock();
        }
    }

    private void check(List<Integer> ranks) {
        int before = -1;
        for (int one : ranks) {
            if (one <= before || one >= peers.length) {
                throw new IllegalArgumentException("ranks have to be in ascending order and below " + peers.length
                        + ", not " + ranks);
            }
            before = one;
        }
        if (!ranks.contains(rank)) {
            throw new IllegalArgumentException("rank " + rank + " is not among " + ranks);
        }
    }

    private void ensureNotPoisoned() throws EndpointException {
        if (poison != null) {
            EndpointException e = new EndpointException(EndpointException.Reason.POISONED,
                    "no barrier can be passed any more: " + poison.getMessage());
            e.initCause(poison);
            throw e;
        }
    }

    /** Takes all steps; each signal carries a hash of the ranks and the kind, so that a mistake shows. */
    private void pass(BarrierKind kind, List<Integer> ranks, long deadlineNanos) throws IOException {
        long sign = 31L * ranks.hashCode() + kind.ordinal();
        List<Pending<Void>> told = new ArrayList<>();
        for (BarrierKind.Step step : kind.steps(ranks.indexOf(rank), ranks.size())) {
            RdmaEndpoint peer = peers[ranks.get(step.place())];
            if (step.tell()) {
                told.add(peer.signal(sign, kind.ordinal()));
                continue;
            }
            Header heard = peer.takeSignal(deadlineNanos);
            if (heard.number() != sign) {
                throw new EndpointException(EndpointException.Reason.POISONED, "node " + ranks.get(step.place())
                        + " is at another barrier");
            }
        }
        for (Pending<Void> one : told) {
            one.await(deadlineNanos);
        }
    }

    /** Closes all connections. Idempotent, does not block. */
    @Override
    public void close() {
        StackRoom.ensure();
        end();
    }

    private void end() {
        for (RdmaEndpoint peer : peers) {
            if (peer != null) {
                peer.end();
            }
        }
    }
}
