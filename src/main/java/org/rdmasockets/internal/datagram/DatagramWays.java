package org.rdmasockets.internal.datagram;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.selection.Policy;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.Routes;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;

/**
 * The ways that datagrams of one bound socket take: over shared memory if that leads there, over RDMA devices to peers
 * that are known, or set, to speak rsockets' datagrams; the caller sends all others over UDP.
 */
public final class DatagramWays implements AutoCloseable {
    private static final Log LOG = new Log(DatagramWays.class);
    private static final LimitedLog WARNINGS = new LimitedLog(LOG);
    static final String SHARED_MEMORY = SharedMemoryProvider.NAME;
    static final String IBVERBS = "ibverbs";
    static final String UDP = "udp";
    /** Longest wait for another process of this host to answer, before a datagram goes over UDP. */
    private static final long SEARCH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** The longest datagram over shared memory. */
    public static final int NEAR_BYTES = DatagramPorts.MAX_BYTES;

    /** For the library's own sockets, which send with a lock held: no send waits for a receiver's room. */
    public static final SocketOption<Boolean> NEVER_WAITS = new Own<>("NEVER_WAITS", Boolean.class);
    /** Likewise: the name of the transport over which the last datagram went. */
    public static final SocketOption<String> SENT_OVER = new Own<>("SENT_OVER", String.class);

    private record Own<T>(String name, Class<T> type) implements SocketOption<T> {}

    private final Policy policy = Policy.current();
    private final InetSocketAddress local;
    private final DatagramInbox inbox;
    /** Null if there is no shared memory for this socket; then there is a reason. */
    private final DatagramPorts ports;
    /** Null also if the port is shared. */
    private final DatagramPorts.Port port;
    private final String unavailability;
    private volatile Way last;
    private final IbverbsDatagrams ibverbs;
    /** Whether ibverbs was ever used: a socket without it pays nothing. */
    private volatile boolean speaksIbverbs;
    private final DatagramPorts.Sender sender = new DatagramPorts.Sender();

    /** How a socket has got its UDP port. */
    public enum PortKind {
        /** The kernel has chosen it. */
        ANY,
        /** The application has chosen it, so that peers know it. */
        CHOSEN,
        /** Likewise, and others may have it, too: datagrams for them must not come here alone. */
        SHARED
    }

    /** The socket's UDP port. */
    public interface Udp {
        /** Sends all of a datagram. */
        void send(byte[] data, InetSocketAddress destination) throws IOException;

        /** Starts to read the UDP port, unless that has begun, and to pass datagrams to {@link #arrivedByUdp}. */
        void startReading();
    }

    /** The way to a destination: forced if UDP must not be used; source null if shared memory does not lead there. */
    private record Way(String wish, InetSocketAddress destination, String transport, boolean forced,
            InetSocketAddress source, String reason) {
        /** Whether this is the way for a wish and destination; a connected socket's destination is the same object. */
        boolean isFor(String otherWish, InetSocketAddress other) {
            return wish == otherWish && (destination == other || destination.equals(other));
        }
    }

    /** How a datagram went: the transport, why no other, and whether it is done; if not, the caller sends it by UDP. */
    public record Sent(String transport, String reason, boolean isDone) {
        private static final Sent OVER_SHARED_MEMORY = new Sent(SHARED_MEMORY, "the destination is on this host", true);
        static final Sent OVER_IBVERBS = new Sent(IBVERBS, "the destination's queue pair is known", true);
        /** Over UDP, in a form to which the peer answers with its queue pair. */
        static final Sent ASKING = new Sent(UDP, "ibverbs: the destination's queue pair is not known now, it was asked "
                + "for", true);
    }

    /** The ways of a socket that is bound to a UDP port. */
    public DatagramWays(InetSocketAddress local, PortKind kind, DatagramInbox inbox, Udp udp) {
        this.local = local;
        this.inbox = inbox;
        ibverbs = new IbverbsDatagrams(local, inbox, udp);
        CompletionInbox completions = null;
        DatagramPorts found = null;
        DatagramPorts.Port taken = null;
        String reason = null;
        try {
            SharedMemoryProvider provider = (SharedMemoryProvider) Providers.sharedMemory();
            Device device = provider.open(provider.devices().getFirst().name());
            ConnectionRole side = kind == PortKind.ANY ? ConnectionRole.ACTIVE : ConnectionRole.PASSIVE;
            completions = Engine.of(provider).poller().openInbox(device, side, inbox, 1);
            inbox.waitIn(completions);
            found = provider.datagramPorts();
            taken = kind == PortKind.SHARED ? null : found.open(local, inbox, completions.shard().queue());
        } catch (SocketException | VerbsException e) {
            reason = e.getMessage();
            WARNINGS.warn("datagrams for {} come over UDP only: {}", local, reason);
        } catch (Error e) {
            if (completions != null) {
                completions.retire();
            }
            throw e;
        }
        ports = found;
        port = taken;
        unavailability = reason;
    }

    /** Takes a datagram that came to the UDP port, in its own array; may wait for room. The wish is null for none. */
    public void arrivedByUdp(String wish, InetSocketAddress source, byte[] data) {
        if (UDP.equals(wish) || !DatagramWire.isTagged(data)) {
            inbox.takeFromUdp(source, data);
            return;
        }
        boolean expected = false;
        try {
            String wanted = policy.decide(wish, source).transport();
            if (!wanted.equals(IBVERBS) && !wanted.equals(Policy.AUTO)) {
                inbox.takeFromUdp(source, data);
                return;
            }
            expected = wanted.equals(IBVERBS);
        } catch (SocketException e) {
            LOG.debug("senders hear of this: {}", e.getMessage());
        }
        ibverbs.arrived(source, data, expected);
        speaksIbverbs = true;
    }

    /**
     * Sends a datagram over another transport than UDP, if the settings or the socket's own wish, null for none, want
     * it and the transport leads to the destination, which is resolved. May sometimes wait for the other process, and
     * for the receiver's room if the sender {@code waits} for that. Throws if this virtual thread was interrupted, this
     * was closed meanwhile, the wanted transport does not lead there, or the datagram is too long for it.
     */
    public Sent send(String wish, InetSocketAddress destination, MemorySegment data, boolean waits)
            throws IOException {
        Way way = last;
        if (way == null || !way.isFor(wish, destination)) {
            way = way(wish, destination);
            last = way;
        }
        String reason = way.reason();
        if (way.transport().equals(IBVERBS)) {
            speaksIbverbs = true;
            return ibverbs.send(destination, data);
        }
        if (speaksIbverbs && way.transport().equals(Policy.AUTO) && ibverbs.knows(destination)) {
            try {
                return ibverbs.send(destination, data);
            } catch (IbverbsDatagrams.TooLong | IbverbsDatagrams.NoWay e) {
                return new Sent(UDP, e.getMessage(), false);
            }
        }
        if (way.source() != null && data.byteSize() > NEAR_BYTES) {
            reason = "EMSGSIZE: " + data.byteSize() + " bytes are more than the " + NEAR_BYTES
                    + " of a datagram over shared memory";
            if (way.forced()) {
                throw new SocketException(reason + "; send shorter ones, or set the option TRANSPORT to udp or auto");
            }
        } else if (way.source() != null) {
            reason = overSharedMemory(way, data, waits);
        }
        if (reason == null) {
            return Sent.OVER_SHARED_MEMORY;
        }
        if (way.forced()) {
            throw new SocketException("the datagram to " + destination + " must not go over UDP, and " + reason
                    + "; start such a socket there, or let TRANSPORT be udp or auto");
        }
        return new Sent(UDP, reason, false);
    }

    /**
     * Names to a peer that is known to have such a socket the queue pair that leads there, if one does and settings and
     * wish, null for none, leave the choice. The peer's answer lets both use queue pairs. Throws if the settings are
     * wrong.
     */
    public void offerQueuePair(String wish, InetSocketAddress destination) throws IOException {
        if (!UDP.equals(wish) && policy.decide(wish, destination).transport().equals(Policy.AUTO)
                && !isForUdpOnly(destination.getAddress())) {
            ibverbs.offer(destination);
        }
    }

    /** Null if it was sent, else why not. */
    private String overSharedMemory(Way way, MemorySegment data, boolean waits) throws IOException {
        if (ports.sendHere(way.source(), way.destination(), data, waits ? sender : null)) {
            return null;
        }
        DatagramPorts.Route route = ports.route(way.destination());
        if (!route.isKnown()) {
            long most = way.forced() ? policy.attemptNanos() : SEARCH_NANOS;
            InterruptibleWait.await(nanos -> route.await(sender, nanos), route.begunNanos() + most);
        }
        ensureOpen();
        String refusal = route.refusal();
        if (refusal == null) {
            inbox.sendsOver(route);
            int bytes = (int) data.byteSize();
            if (waits && route.isBehind(bytes)) {
                InterruptibleWait.await(nanos -> route.awaitRoom(bytes, sender, nanos),
                        System.nanoTime() + DatagramPorts.ROOM_NANOS);
                ensureOpen();
            }
            route.send(way.source(), data, waits);
            return null;
        }
        return SHARED_MEMORY + ": " + refusal;
    }

    private void ensureOpen() throws IOException {
        if (sender.isClosed()) { // while it waited
            throw NetErrors.closed();
        }
    }

    private Way way(String wish, InetSocketAddress destination) throws IOException {
        if (UDP.equals(wish)) {
            return new Way(wish, destination, UDP, false, null, "the socket's option TRANSPORT says so");
        }
        Policy.Decision decision = policy.decide(wish, destination);
        boolean forced = !decision.isAuto() || !policy.fallback();
        if (decision.transport().equals(IBVERBS)) {
            if (isForUdpOnly(destination.getAddress())) {
                throw new SocketException("ibverbs does not lead to " + destination + ": such addresses are for UDP "
                        + "only; " + decision.reason() + ": let TRANSPORT be udp or auto");
            }
            return new Way(wish, destination, IBVERBS, true, null, "");
        }
        if (decision.transport().equals(Policy.TCP)) {
            return new Way(wish, destination, UDP, false, null, decision.reason());
        }
        String reason = unavailability != null ? unavailability : obstacle(destination);
        InetSocketAddress source = reason == null ? source(destination) : null;
        return new Way(wish, destination, decision.transport(), forced, source,
                reason == null ? "" : SHARED_MEMORY + ": " + reason);
    }

    /** Whether shared memory may lead to an address, if a process there has a socket. */
    public static boolean isNear(InetSocketAddress destination) {
        return obstacle(destination) == null;
    }

    private static String obstacle(InetSocketAddress destination) {
        InetAddress host = destination.getAddress();
        if (isForUdpOnly(host)) {
            return host.getHostAddress() + " is for UDP only";
        }
        return Routes.endsHere(destination) || SharedMemoryProvider.spansNetworks() ? null
                : host.getHostAddress() + " is not on this host";
    }

    private static boolean isForUdpOnly(InetAddress host) {
        return host.isMulticastAddress() || host.isAnyLocalAddress() || host.isLinkLocalAddress();
    }

    private InetSocketAddress source(InetSocketAddress destination) throws IOException {
        InetAddress own = local.getAddress();
        boolean sameFamily = own.getClass() == destination.getAddress().getClass();
        return own.isAnyLocalAddress() || !sameFamily
                ? new InetSocketAddress(Routes.sourceOf(destination), local.getPort()) : local;
    }

    @Override
    public void close() {
        sender.close();
        if (port != null) {
            port.close();
        }
        ibverbs.close();
    }
}
