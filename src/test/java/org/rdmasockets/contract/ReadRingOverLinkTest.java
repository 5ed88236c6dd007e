package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** Streams through a ring whose position is read over a link of shared memory are what the contracts ask for. */
@ExtendWith(Linked.class)
class ReadRingOverLinkTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.READ_RING;
    }

    @Override
    SocketFixture place() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
