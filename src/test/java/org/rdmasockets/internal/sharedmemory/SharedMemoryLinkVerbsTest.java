package org.rdmasockets.internal.sharedmemory;

import java.net.InetAddress;
import org.rdmasockets.contract.VerbsContract;
import org.rdmasockets.contract.VerbsFixture;
import org.rdmasockets.verbs.VerbsProvider;

/** The verbs contract over a link, as between two processes: both ends of it are in this one. */
class SharedMemoryLinkVerbsTest extends VerbsContract {
    /** One for all tests: its device is compared by identity. */
    private static final VerbsProvider PROVIDER = new SharedMemoryProvider(true);

    @Override
    protected VerbsFixture fixture() {
        return new VerbsFixture(PROVIDER, SharedMemoryDevice.NAME, InetAddress.ofLiteral("127.0.0.1"));
    }
}
