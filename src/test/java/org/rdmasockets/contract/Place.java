package org.rdmasockets.contract;

import java.util.Optional;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;
import org.rdmasockets.far.OtherJvm;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.Linked;

/** The places where a contract holds: a family of sockets, and what carries its bytes. */
public enum Place {
    /** Sockets of the JDK: they prove the contract. */
    JAVA_NET,
    /** RDMA sockets that choose their transport. */
    AUTO,
    /** RDMA sockets that choose their transport, where shared memory is a link as between two processes. */
    AUTO_OVER_LINK,
    /** RDMA sockets over TCP. */
    TCP,
    /** RDMA datagram sockets over UDP. */
    UDP,
    /** Shared memory within this process. */
    SHARED_MEMORY,
    /** A link of shared memory, as between two processes: both ends are in this one. */
    LINK,
    /** Shared memory of two JVMs: the other one accepts. */
    TO_ANOTHER_JVM,
    /** Shared memory of two JVMs: the other one connects. */
    FROM_ANOTHER_JVM,
    /** A device of each of two hosts: the other one accepts. */
    TO_ANOTHER_HOST,
    /** A device of each of two hosts: the other one connects. */
    FROM_ANOTHER_HOST,
    /** The device that the properties name, see {@link TestDevice}. */
    DEVICE;

    /**
     * A place that was entered.
     *
     * @param place the place
     * @param fixture the sockets there
     * @param held kept until the place is left; null for nothing
     */
    public record Entered(Place place, SocketFixture fixture, AutoCloseable held) {
    }

    /**
     * Tells whether this process can run tests here.
     *
     * @return true between hosts if this process talks with another one, on a device if the properties name one,
     *     elsewhere if they name none
     */
    boolean isReachable() {
        return switch (this) {
            case TO_ANOTHER_HOST, FROM_ANOTHER_HOST -> OtherJvm.ofOtherHost().isPresent();
            default -> (this == DEVICE) == (System.getProperty(TestDevice.NAME) != null);
        };
    }

    /** Makes what the place needs: a provider in the place of the process's own, or another JVM. */
    Entered enter() throws Exception {
        return switch (this) {
            case JAVA_NET -> new Entered(this, new TcpFixture(), null);
            case AUTO -> new Entered(this, new RdmaFixture(null), null);
            case AUTO_OVER_LINK -> new Entered(this, new RdmaFixture(null), new Replacement(Linked.provider()));
            case TCP, UDP -> new Entered(this, new RdmaFixture(transport().orElseThrow()), null);
            case SHARED_MEMORY -> new Entered(this, new RdmaFixture(Transport.SHARED_MEMORY), null);
            case LINK -> new Entered(this, new RdmaFixture(Transport.SHARED_MEMORY),
                    new Replacement(Linked.provider()));
            case TO_ANOTHER_JVM, FROM_ANOTHER_JVM -> {
                OtherJvm other = OtherJvm.start();
                yield new Entered(this, new TwoJvmsFixture(other, this == TO_ANOTHER_JVM), () -> end(other));
            }
            case TO_ANOTHER_HOST, FROM_ANOTHER_HOST -> {
                OtherJvm other = OtherJvm.ofOtherHost().orElseThrow();
                yield new Entered(this, new TwoHostsFixture(other, this == TO_ANOTHER_HOST), other::assertNoRescues);
            }
            case DEVICE -> new Entered(this, new DeviceFixture(), null);
        };
    }

    /** The transport that sockets here are told to take; empty for those that choose. */
    Optional<Transport> transport() {
        return switch (this) {
            case TCP -> Optional.of(Transport.TCP);
            case UDP -> Optional.of(Transport.UDP);
            case SHARED_MEMORY, LINK, TO_ANOTHER_JVM, FROM_ANOTHER_JVM -> Optional.of(Transport.SHARED_MEMORY);
            case TO_ANOTHER_HOST, FROM_ANOTHER_HOST -> Optional.of(Transport.IBVERBS);
            default -> Optional.empty();
        };
    }

    private static void end(OtherJvm other) throws Exception {
        try {
            other.assertNoRescues();
        } finally {
            other.close();
        }
    }
}
