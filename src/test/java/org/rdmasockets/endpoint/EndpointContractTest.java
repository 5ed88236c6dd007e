package org.rdmasockets.endpoint;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.contract.Bystanders;
import org.rdmasockets.contract.Place;
import org.rdmasockets.contract.RunIn;

/** The contract of endpoints over all devices; what a device lacks is refused there, and tested as such. */
@Bystanders
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.DEVICE})
class EndpointContractTest {
    /** {@link EndpointConnectContract}. */
    @Nested
    class Connecting extends EndpointConnectContract {
    }

    /** {@link EndpointMessageContract}. */
    @Nested
    class Messages extends EndpointMessageContract {
    }

    /** {@link EndpointRendezvousContract}. */
    @Nested
    class Rendezvouses extends EndpointRendezvousContract {
    }

    /** {@link EndpointRegionContract}. */
    @Nested
    class Regions extends EndpointRegionContract {
    }

    /** {@link EndpointAccessContract}. */
    @Nested
    class Accesses extends EndpointAccessContract {
    }

    /** {@link EndpointLeaseContract}. */
    @Nested
    class LeasesOfMemory extends EndpointLeaseContract {
    }

    /** {@link EndpointRawContract}. */
    @Nested
    class Raw extends EndpointRawContract {
    }

    /** {@link EndpointEndContract}. */
    @Nested
    class Ends extends EndpointEndContract {
    }

    /** {@link EndpointOverflowContract}. */
    @Nested
    @Tag("overflow")
    class Overflows extends EndpointOverflowContract {
    }

    /** {@link EndpointGroupContract}. */
    @Nested
    class Groups extends EndpointGroupContract {
    }

    /** {@link EndpointProcessContract}. */
    @Nested
    @Tag("further-jvms")
    class Processes extends EndpointProcessContract {
    }

    /** {@link EndpointBudgetContract}. */
    @Nested
    @Tag("further-jvms")
    class Budgets extends EndpointBudgetContract {
    }
}
