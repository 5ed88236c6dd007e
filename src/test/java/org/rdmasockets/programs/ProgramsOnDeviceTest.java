package org.rdmasockets.programs;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The programs of this package once more, on the RDMA device of the guest. */
@Tag("device")
class ProgramsOnDeviceTest {
    /** Plain sockets of unmodified programs. */
    @Nested
    class Agent extends AgentTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** Programs of others with the agent at both ends. */
    @Nested
    class AgentPrograms extends AgentProgramsTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** Plain sockets of a program that switches its JVM. */
    @Nested
    class Install extends InstallTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** TLS on our sockets. */
    @Nested
    class Tls extends TlsTest {
        @Override
        Place place() {
            return Place.device();
        }

        @Override
        int megabytes() {
            return 5; // ciphers and devices are emulated
        }
    }

    /** Apache HttpComponents. */
    @Nested
    class Http extends HttpComponentsTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** gRPC on our sockets. */
    @Nested
    class Grpc extends GrpcTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** A JGroups cluster. */
    @Nested
    class Cluster extends ClusterTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** Plain servers behind RDMA. */
    @Nested
    class Gateway extends GatewayTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** PostgreSQL behind RDMA. */
    @Nested
    class Query extends QueryTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** A copy into another process's memory. */
    @Nested
    class RdmaCopy extends RdmaCopyTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** Ping-pong by reads and writes. */
    @Nested
    class Rping extends RpingTest {
        @Override
        Place place() {
            return Place.device();
        }

        @Override
        int rounds() {
            return 300; // against the C program there are more, see RpingInteropTest
        }
    }

    /** Memory for a time. */
    @Nested
    class Lease extends LeaseTest {
        @Override
        Place place() {
            return Place.device();
        }
    }

    /** Nodes that wait for each other. */
    @Nested
    class Barrier extends BarrierTest {
        @Override
        Place place() {
            return Place.device();
        }
    }
}
