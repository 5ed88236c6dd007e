package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.selection.Policy;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.Binding;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.Protocol;
import org.rdmasockets.internal.connection.Routes;
import org.rdmasockets.internal.connection.VerbsConnection;
import org.rdmasockets.internal.connection.VerbsListener;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The settings of a {@link RdmaEndpointBuilder}, which also connect and listen: over the provider of the named device,
 * or by the rules for sockets; TCP carries no endpoint. Changed by the builder only, which gives copies away.
 */
final class Settings implements Protocol.Maker<EndpointProtocol>, Cloneable {
    /** Control messages that an endpoint takes at once. */
    static final int CONTROL_MESSAGES = 16;
    private static final int MOST_TRIES = 16;

    String device;
    int port;
    int gidIndex = -1;
    int sends = 128;
    int receives = 64;
    int completions;
    int elements = 2;
    int inlineBytes = 64;
    int dataMessages = 32;
    int bufferBytes = 8192;
    long maxMessageBytes = 64 << 20;
    boolean raw;
    MemoryStrategy strategy = MemoryStrategy.POOLED;
    Set<AccessFlag> access = Set.of(AccessFlag.LOCAL_WRITE);
    long remoteMemoryBytes = 64 << 20;
    Set<AccessFlag> remoteAccess = Rights.REMOTE;
    long longestLeaseNanos = TimeUnit.HOURS.toNanos(1);
    long connectNanos = TimeUnit.SECONDS.toNanos(60);
    long operationNanos = Long.MAX_VALUE / 4;
    long answerNanos = TimeUnit.SECONDS.toNanos(5);
    long acknowledgeNanos = TimeUnit.SECONDS.toNanos(30);
    long lingerNanos = TimeUnit.SECONDS.toNanos(10);
    int backlog = 50;
    /** The secret of all nodes of a group; null for none. */
    byte[] groupSecret;
    /** The pass that a node shows when it connects; null for an end that is no node. */
    byte[] pass;
    /** Checks the peers that connect to a node; null for an end that is none. */
    NodeEntrance entrance;
    /** The domain that the connections share; null if each has its own. */
    Sharing shared;

    /** The rights of a peer on memory that it asks for, as far as the device can. */
    Set<AccessFlag> remoteRights(Device on) {
        Set<AccessFlag> rights = EnumSet.noneOf(AccessFlag.class);
        rights.addAll(remoteAccess);
        if (!on.supports(Capability.ATOMICS)) {
            rights.remove(AccessFlag.REMOTE_ATOMIC);
        }
        return rights;
    }

    Greeting greeting() {
        return new Greeting(raw, dataMessages, CONTROL_MESSAGES, bufferBytes, maxMessageBytes, 0);
    }

    int maxReceives() {
        return raw ? receives : ReceiveSide.count(greeting());
    }

    int maxCompletions() {
        return Math.max(completions, sends + maxReceives());
    }

    /** Refuses a peer of the other mode, raw or not raw. */
    void check(Greeting peer) throws EndpointException {
        if (peer.raw() != raw) {
            throw new EndpointException(EndpointException.Reason.PROTOCOL, "this end is " + mode(raw)
                    + ", the peer " + mode(peer.raw()) + ": both have to be the same");
        }
    }

    private static String mode(boolean raw) {
        return raw ? "raw" : "not raw";
    }

    @Override
    public EndpointProtocol make(VerbsConnection connection, ConnectionParameters asked) throws IOException {
        if (asked != null) {
            byte[] greeting = asked.privateData();
            check(Greeting.decode(greeting));
            if (entrance != null) {
                entrance.check(greeting);
            }
        }
        return new EndpointProtocol(this, connection);
    }

    /** Refuses a connection over an unwanted device or port, or over a device that cannot do what is wanted. */
    void check(VerbsConnection connection) throws EndpointException {
        checkPlace(connection.identifier());
        check(connection.device());
    }

    private void checkPlace(ConnectionIdentifier identifier) throws EndpointException {
        String name = identifier.device().info().name();
        if (device != null && !device.equals(name)) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "the connection would go over device " + name
                    + ", not " + device + ": use an address of that");
        }
        if (port != 0 && port != identifier.portNumber()) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "the connection would go over port "
                    + identifier.portNumber() + " of device " + name + ", not " + port);
        }
    }

    /** Set-up pool: the domain of a connection, which releases it. */
    Domain domain(VerbsConnection connection) throws IOException {
        Device on = connection.device();
        return shared != null ? shared.retain(on)
                : new Domain(on, connection.identifier().allocateProtectionDomain());
    }

    private void check(Device on) throws EndpointException {
        DeviceAttributes limits = on.attributes();
        check(on, "the send queue", sends, limits.maxWorkRequests());
        check(on, "the receive queue", maxReceives(), limits.maxWorkRequests());
        check(on, "elements of a request", elements, limits.maxScatterGather());
        check(on, "the completion queue", maxCompletions(), limits.maxCompletionQueueEntries());
    }

    private static void check(Device on, String what, int wanted, int most) throws EndpointException {
        if (wanted > most) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "device " + on.info().name() + " has at most "
                    + most + " for " + what + ", not " + wanted);
        }
    }

    /** Connects over the first provider that leads there. */
    EndpointProtocol connect(InetSocketAddress server) throws IOException {
        if (server.isUnresolved()) {
            throw NetErrors.unresolved(server);
        }
        long deadline = NanoTimes.after(connectNanos);
        List<VerbsProvider> providers = providers(server);
        IOException first = null;
        for (VerbsProvider provider : providers) {
            boolean elsewhere = provider == Providers.sharedMemory() && !Routes.endsHere(server)
                    && !Providers.sharedMemoryLeadsTo(server);
            if (elsewhere && providers.size() > 1) {
                continue;
            }
            try {
                return Binding.later(Engine.of(provider), isForced(), source(provider, server))
                        .connect(server, deadline, this);
            } catch (EndpointException e) {
                throw e;
            } catch (IOException e) {
                if (Thread.currentThread().isVirtual() && Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                first = first == null ? e : first;
            }
        }
        throw first == null ? new ConnectException("no RDMA provider leads to " + server) : first;
    }

    /** The address to connect from. */
    private InetSocketAddress source(VerbsProvider provider, InetSocketAddress server) throws IOException {
        if (gidIndex < 0) {
            return new InetSocketAddress(0);
        }
        if (device == null) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "a GID index needs the name of a device");
        }
        Device named = provider.open(device);
        Gid gid = named.gid(Math.max(1, port), gidIndex);
        boolean none = named.info().transport() == TransportType.IWARP || gid.isZero();
        InetAddress address = none ? null : InetAddress.getByAddress(gid.bytes());
        if (none || address.getAddress().length != server.getAddress().getAddress().length) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "entry " + gidIndex + " of the GID table of "
                    + device + (none ? " is no address: " + gid : " is of another family than " + server + ": "
                    + address));
        }
        return new InetSocketAddress(address, 0);
    }

    /** Listens over all providers that can, on one port. */
    RdmaEndpointServer listen(InetSocketAddress local) throws IOException {
        if (local.isUnresolved()) {
            throw NetErrors.unresolved(local);
        }
        List<VerbsProvider> providers = providers(local);
        for (int tries = 1;; tries++) {
            try {
                return listen(providers, local);
            } catch (BindException e) {
                if (local.getPort() != 0 || tries == MOST_TRIES || providers.size() == 1) {
                    throw e;
                }
            }
        }
    }

    private RdmaEndpointServer listen(List<VerbsProvider> providers, InetSocketAddress local) throws IOException {
        AcceptQueue<EndpointProtocol> accepted = new AcceptQueue<>(link -> link.connection().abort());
        List<VerbsListener<EndpointProtocol>> listeners = new ArrayList<>();
        try {
            listen(providers, local, listeners, accepted);
            return new RdmaEndpointServer(listeners, accepted);
        } catch (Throwable e) {
            listeners.forEach(VerbsListener::close);
            accepted.close();
            throw e;
        }
    }

    private void listen(List<VerbsProvider> providers, InetSocketAddress local,
            List<VerbsListener<EndpointProtocol>> listeners,
            AcceptQueue<EndpointProtocol> accepted) throws IOException {
        IOException telling = null;
        InetSocketAddress next = local;
        for (VerbsProvider provider : providers) {
            try {
                Engine engine = Engine.of(provider);
                engine.prepare();
                VerbsListener<EndpointProtocol> listener = Binding.open(engine, isForced(), next)
                        .listener(backlog, this, accepted);
                listener.start();
                listeners.add(listener);
                next = listeners.getFirst().localAddress();
            } catch (IOException e) {
                if (isTaken(e)) { // over one transport, so nothing may listen there over another
                    throw e;
                }
                if (telling == null || e instanceof BindException) { // the others say what a transport lacks
                    telling = e;
                }
            }
        }
        if (listeners.isEmpty()) {
            throw telling;
        }
    }

    private static boolean isTaken(IOException e) {
        return e instanceof BindException && e.getMessage().startsWith("Address already in use");
    }

    /** Whether the builder or the policy names the provider, so that iWARP counts. */
    private boolean isForced() throws SocketException {
        return device != null || !Policy.current().decide(null, new InetSocketAddress(0)).isAuto();
    }

    private List<VerbsProvider> providers(InetSocketAddress address) throws IOException {
        if (device != null) {
            return List.of(providerOf(device));
        }
        if (shared != null && shared.device() != null) {
            return List.of(providerOf(shared.device().name()));
        }
        Policy.Decision decision = Policy.current().decide(null, address);
        if (decision.isAuto()) {
            return Providers.all();
        }
        if (decision.transport().equals(Policy.TCP)) {
            throw new ConnectException("endpoints go over RDMA, not over TCP, and for " + address + " "
                    + decision.reason());
        }
        return List.of(Providers.named(decision.transport()));
    }

    private static VerbsProvider providerOf(String device) throws IOException {
        List<String> names = new ArrayList<>();
        for (VerbsProvider provider : Providers.all()) {
            List<String> own = provider.unavailability().isPresent() ? List.of()
                    : provider.devices().stream().map(DeviceInfo::name).toList();
            if (own.contains(device)) {
                return provider;
            }
            names.addAll(own);
        }
        List<String> reasons = Providers.all().stream()
                .flatMap(p -> p.unavailability().map(why -> p.name() + ": " + why).stream()).toList();
        throw new EndpointException(EndpointException.Reason.LIMIT, "no RDMA device is named " + device
                + "; there are: " + Stream.concat(names.stream(), reasons.stream()).toList());
    }

    @Override
    public Settings clone() {
        try {
            return (Settings) super.clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
