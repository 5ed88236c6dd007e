package org.rdmasockets.contract;

import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;

/** Streams through a ring whose position is read over shared memory are what the contracts ask for. */
class ReadRingOverSharedMemoryTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.READ_RING;
    }

    @Override
    SocketFixture place() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
