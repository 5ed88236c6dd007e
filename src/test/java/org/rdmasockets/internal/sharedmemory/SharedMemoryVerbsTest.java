package org.rdmasockets.internal.sharedmemory;

import java.net.InetAddress;
import org.rdmasockets.contract.VerbsContract;
import org.rdmasockets.contract.VerbsFixture;
import org.rdmasockets.internal.provider.Providers;

/** The verbs contract inside one process. */
class SharedMemoryVerbsTest extends VerbsContract {
    @Override
    protected VerbsFixture fixture() {
        return new VerbsFixture(Providers.sharedMemory(), SharedMemoryDevice.NAME, InetAddress.ofLiteral("127.0.0.1"));
    }
}
