package org.rdmasockets.internal.ibverbs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.contract.VerbsContract;
import org.rdmasockets.contract.VerbsFixture;
import org.rdmasockets.internal.provider.Providers;

/** The verbs contract on a real device, which two system properties name. */
@Tag("device")
class IbverbsVerbsTest extends VerbsContract {
    @Override
    protected VerbsFixture fixture() {
        try {
            return new VerbsFixture(Providers.ibverbs(), System.getProperty("org.rdmasockets.test.device", "rxe0"),
                    InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "10.77.0.1")));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("org.rdmasockets.test.address is no address", e);
        }
    }
}
