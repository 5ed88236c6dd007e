package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.rdmasockets.choice.Policy;
import org.rdmasockets.provider.Providers;
import org.rdmasockets.transport.AcceptQueue;
import org.rdmasockets.transport.Binding;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.Routes;
import org.rdmasockets.transport.VerbsListener;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * Finds the providers that lead to an address: the one of the device that the settings name, or as the rules for
 * sockets say. TCP carries no endpoint.
 */
record Way(Settings settings) {
    private static final int MOST_TRIES = 16;

    /** Connects over the first provider that leads there. */
    Link connect(InetSocketAddress server) throws IOException {
        if (server.isUnresolved()) {
            throw new UnknownHostException(server.getHostString());
        }
        long deadline = Deadlines.after(settings.connectNanos);
        List<VerbsProvider> providers = providers(server);
        IOException first = null;
        for (VerbsProvider provider : providers) {
            boolean elsewhere = provider == Providers.sharedMemory() && !Routes.endsHere(server);
            if (elsewhere && providers.size() > 1) {
                continue;
            }
            try {
                return Binding.later(Engine.of(provider), isForced(), source(provider, server))
                        .connect(server, deadline, settings);
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
        if (settings.gidIndex < 0) {
            return new InetSocketAddress(0);
        }
        if (settings.device == null) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "a GID index needs the name of a device");
        }
        Device device = provider.open(settings.device);
        Gid gid = device.gid(Math.max(1, settings.port), settings.gidIndex);
        if (device.info().transport() == TransportType.IWARP || gid.isZero()) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "entry " + settings.gidIndex
                    + " of the GID table of " + settings.device + " is no address: " + gid);
        }
        InetAddress address = InetAddress.getByAddress(gid.bytes());
        boolean sameFamily = address.getAddress().length == server.getAddress().getAddress().length;
        if (!sameFamily) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "entry " + settings.gidIndex
                    + " of the GID table of " + settings.device + " is of another family than " + server + ": "
                    + address);
        }
        return new InetSocketAddress(address, 0);
    }

    /** Listens over all providers that can, on one port. */
    RdmaEndpointServer listen(InetSocketAddress local) throws IOException {
        if (local.isUnresolved()) {
            throw new UnknownHostException(local.getHostString());
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
        AcceptQueue<Link> accepted = new AcceptQueue<>(link -> link.connection().abort());
        List<VerbsListener<Link>> listeners = new ArrayList<>();
        RdmaEndpointServer server = null;
        try {
            listen(providers, local, listeners, accepted);
            server = new RdmaEndpointServer(listeners, accepted);
            return server;
        } finally {
            if (server == null) {
                listeners.forEach(VerbsListener::close);
                accepted.close();
            }
        }
    }

    private void listen(List<VerbsProvider> providers, InetSocketAddress local, List<VerbsListener<Link>> listeners,
            AcceptQueue<Link> accepted) throws IOException {
        IOException last = null;
        InetSocketAddress next = local;
        for (VerbsProvider provider : providers) {
            try {
                Engine engine = Engine.of(provider);
                engine.prepare();
                listeners.add(Binding.open(engine, isForced(), next).listen(settings.backlog, settings, accepted));
                next = listeners.getFirst().localAddress();
            } catch (IOException e) {
                last = e;
                if (isTaken(e) && !listeners.isEmpty()) {
                    throw e;
                }
            }
        }
        if (listeners.isEmpty()) {
            throw last;
        }
    }

    private static boolean isTaken(IOException e) {
        return e instanceof BindException && e.getMessage().startsWith("Address already in use");
    }

    /** Whether somebody has said which provider it shall be, so that iWARP counts. */
    private boolean isForced() throws SocketException {
        return settings.device != null || !Policy.current().decide(null, new InetSocketAddress(0)).isAuto();
    }

    private List<VerbsProvider> providers(InetSocketAddress address) throws IOException {
        if (settings.device != null) {
            return List.of(providerOf(settings.device));
        }
        if (settings.shared != null && settings.shared.device() != null) {
            return List.of(providerOf(settings.shared.device().name()));
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
}
