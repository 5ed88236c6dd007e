package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.transport.Protocol;
import org.rdmasockets.transport.VerbsConnection;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;

/** What a {@link RdmaEndpointBuilder} was told. Changed by the builder only, which gives copies away. */
final class Settings implements Protocol.Maker<Link>, Cloneable {
    /** Control messages that an endpoint takes at once. */
    static final int CONTROL_MESSAGES = 16;

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
    /** What all nodes of a group know; null for nothing. */
    byte[] groupSecret;
    /** What a node shows when it connects; null for what is no node. */
    byte[] pass;
    /** Looks at who connects to a node; null for what is none. */
    NodeEntrance entrance;
    /** What the connections have in common; null for one of its own for each. */
    Sharing shared;

    /** What a peer may do with memory that it asks for, as far as the device can. */
    Set<AccessFlag> remoteRights(Device on) {
        Set<AccessFlag> rights = EnumSet.noneOf(AccessFlag.class);
        rights.addAll(remoteAccess);
        if (!on.supports(Capability.ATOMICS)) {
            rights.remove(AccessFlag.REMOTE_ATOMIC);
        }
        return rights;
    }

    /** What this end tells its peer. */
    Greeting greeting() {
        return new Greeting(raw, dataMessages, CONTROL_MESSAGES, bufferBytes, maxMessageBytes, 0);
    }

    /** Receives that are posted at most. */
    int maxReceives() {
        return raw ? receives : ReceiveSide.count(greeting());
    }

    /** Completions that may be there at once. */
    int maxCompletions() {
        return Math.max(completions, sends + maxReceives());
    }

    @Override
    public void check(byte[] privateData) throws IOException {
        check(Greeting.decode(privateData));
        if (entrance != null) {
            entrance.check(privateData);
        }
    }

    /** Refuses a peer that works otherwise. */
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
    public Link make(VerbsConnection connection, ConnectionParameters asked) throws IOException {
        checkPlace(connection.identifier());
        check(connection.device());
        return new Link(this, connection);
    }

    /** Refuses a connection that is not where it is wanted. */
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
        return shared == null ? Domain.allocate(connection.engine(), connection.identifier())
                : shared.retain(connection.engine(), connection.device());
    }

    /** Refuses what a device cannot do. */
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

    @Override
    public Settings clone() {
        try {
            return (Settings) super.clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
