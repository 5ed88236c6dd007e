package org.rdmasockets.endpoint;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.contract.Bystanders;

/**
 * The contract of endpoints over all devices. A test extends this and says in {@link #fixture()} what to run on; what a
 * device lacks is refused there, and tested as such.
 */
@Bystanders
abstract class EndpointContract {
    /** The device and address to run on. */
    abstract EndpointFixture fixture();

    /** {@link ConnectTrials}. */
    @Nested
    class Connecting extends ConnectTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link MessageTrials}. */
    @Nested
    class Messages extends MessageTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link RegionTrials}. */
    @Nested
    class Regions extends RegionTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link AccessTrials}. */
    @Nested
    class Accesses extends AccessTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link LeaseTrials}. */
    @Nested
    class LeasesOfMemory extends LeaseTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link RawTrials}. */
    @Nested
    class Raw extends RawTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link EndTrials}. */
    @Nested
    class Ends extends EndTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link OverflowTrials}. */
    @Nested
    class Overflows extends OverflowTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link GroupTrials}. */
    @Nested
    class Groups extends GroupTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link ProcessTrials}. */
    @Nested
    @Tag("further-jvms")
    class Processes extends ProcessTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }

    /** {@link BudgetTrials}. */
    @Nested
    @Tag("further-jvms")
    class Budgets extends BudgetTrials {
        @Override
        EndpointFixture fixture() {
            return EndpointContract.this.fixture();
        }
    }
}
