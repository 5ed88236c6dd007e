package org.rdmasockets.datagram;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.choice.Policy;
import org.rdmasockets.log.LimitedLog;
import org.rdmasockets.provider.Providers;
import org.rdmasockets.provider.sharedmemory.DatagramPorts;
import org.rdmasockets.provider.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.Patience;
import org.rdmasockets.transport.Routes;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.LoggerFactory;

/** The ways that datagrams of one bound socket take: over shared memory where that leads, else not its business. */
public final class DatagramWays implements AutoCloseable {
    private static final LimitedLog LOG = new LimitedLog(LoggerFactory.getLogger(DatagramWays.class));
    private static final String SHARED_MEMORY = SharedMemoryProvider.NAME;
    private static final String UDP = "udp";
    /** Longest wait for another process of this host to answer, before a datagram goes over UDP. */
    private static final long SEARCH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Policy policy = Policy.current();
    private final InetSocketAddress local;
    /** Null where there is no shared memory for this socket, and then there is a reason. */
    private final DatagramPorts ports;
    private final DatagramPorts.Port port;
    private final String unavailability;
    private volatile Way last;

    /**
     * The way to a destination; forced if UDP must not be used, source null if shared memory cannot lead there,
     * or must not.
     */
    private record Way(String wish, InetSocketAddress destination, boolean forced, InetSocketAddress source,
            String reason) {
        /** By identity for the destination of a connected socket. */
        boolean isFor(String otherWish, InetSocketAddress other) {
            return wish == otherWish && (destination == other || destination.equals(other));
        }
    }

    /**
     * How a datagram went.
     *
     * @param transport {@code sharedmemory} if it was sent; {@code udp} if it is to be sent so
     * @param reason why not over another
     */
    public record Sent(String transport, String reason) {
        private static final Sent OVER_SHARED_MEMORY = new Sent(SHARED_MEMORY, "the destination is on this host");

        /**
         * Whether it was sent.
         *
         * @return false if it is to be sent over UDP
         */
        public boolean isDone() {
            return this == OVER_SHARED_MEMORY;
        }
    }

    /**
     * The ways of a socket that is bound to a UDP port.
     *
     * @param local where
     * @param inbox gets what comes over shared memory
     */
    public DatagramWays(InetSocketAddress local, DatagramInbox inbox) {
        this.local = local;
        DatagramPorts found = null;
        DatagramPorts.Port taken = null;
        String reason = null;
        try {
            Engine.of(Providers.sharedMemory()); // its poller takes in what other processes send
            found = ((SharedMemoryProvider) Providers.sharedMemory()).datagramPorts();
            taken = found.open(local, inbox);
        } catch (SocketException | VerbsException e) {
            reason = e.getMessage();
            LOG.warn("datagrams for {} come over UDP only: {}", local, reason);
        }
        ports = found;
        port = taken;
        unavailability = reason;
    }

    /**
     * Sends a datagram over shared memory, if the settings want that and it leads to the destination. May wait for an
     * answer of the other process, once in a while.
     *
     * @param wish the socket's own transport, or null for none
     * @param destination a resolved address and a port
     * @param data what to send
     * @return how it went
     * @throws InterruptedIOException if this is a virtual thread and was interrupted; the status stays set
     * @throws SocketException if the settings want a transport that does not lead there
     * @throws IOException if it is too long for the transport that the settings want
     */
    public Sent send(String wish, InetSocketAddress destination, MemorySegment data) throws IOException {
        Way way = last;
        if (way == null || !way.isFor(wish, destination)) {
            way = way(wish, destination);
            last = way;
        }
        String reason = way.reason();
        if (way.source() != null && data.byteSize() > DatagramPorts.MAX_BYTES) {
            reason = "EMSGSIZE: " + data.byteSize() + " bytes are more than the " + DatagramPorts.MAX_BYTES
                    + " of a datagram over shared memory";
            if (way.forced()) {
                throw new IOException(reason + "; send shorter ones, or set the option TRANSPORT to udp or auto");
            }
        } else if (way.source() != null) {
            reason = overSharedMemory(way, data);
        }
        if (reason == null) {
            return Sent.OVER_SHARED_MEMORY;
        }
        if (way.forced()) {
            throw new SocketException("the datagram to " + destination + " must not go over UDP, and " + reason
                    + "; start such a socket there, or let TRANSPORT be udp or auto");
        }
        return new Sent(UDP, reason);
    }

    /** Null if it was sent, else why not. */
    private String overSharedMemory(Way way, MemorySegment data) throws InterruptedIOException {
        if (ports.sendHere(way.source(), way.destination(), data)) {
            return null;
        }
        DatagramPorts.Route route = ports.route(way.destination());
        long most = way.forced() ? policy.attemptNanos() : SEARCH_NANOS;
        Patience.await(nanos -> route.await(nanos) ? true : null, route.begunNanos() + most);
        String refusal = route.refusal();
        if (refusal == null) {
            route.send(way.source(), data);
            return null;
        }
        return SHARED_MEMORY + ": " + refusal;
    }

    private Way way(String wish, InetSocketAddress destination) throws IOException {
        if (UDP.equals(wish)) {
            return new Way(wish, destination, false, null, "the socket's option TRANSPORT says so");
        }
        Policy.Decision decision = policy.decide(wish, destination);
        boolean forced = !decision.isAuto() || !policy.fallback();
        if (!decision.isAuto() && !decision.transport().equals(SHARED_MEMORY)) {
            if (!decision.transport().equals(Policy.TCP)) {
                throw new SocketException(decision.transport() + " carries no datagrams: " + decision.reason()
                        + "; set the socket's option TRANSPORT to auto, sharedmemory or udp");
            }
            return new Way(wish, destination, false, null, decision.reason());
        }
        String reason = unavailability != null ? unavailability : obstacle(destination);
        InetSocketAddress source = reason == null ? source(destination) : null;
        return new Way(wish, destination, forced, source, reason == null ? "" : SHARED_MEMORY + ": " + reason);
    }

    private static String obstacle(InetSocketAddress destination) {
        InetAddress host = destination.getAddress();
        if (host.isMulticastAddress() || host.isAnyLocalAddress() || host.isLinkLocalAddress()) {
            return host.getHostAddress() + " is for UDP only";
        }
        return Routes.endsHere(destination) ? null : host.getHostAddress() + " is not on this host";
    }

    private InetSocketAddress source(InetSocketAddress destination) throws IOException {
        InetAddress own = local.getAddress();
        boolean sameFamily = own.getClass() == destination.getAddress().getClass();
        return own.isAnyLocalAddress() || !sameFamily
                ? new InetSocketAddress(Routes.sourceOf(destination), local.getPort()) : local;
    }

    @Override
    public void close() {
        if (port != null) {
            port.close();
        }
    }
}
