package org.rdmasockets.endpoint;

import java.io.IOException;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;

/** The domain that several connections have in common: one that is there, or that of the first of them. Any thread. */
final class Sharing {
    /** Whether the first connection brings the domain. */
    private final boolean late;
    /** Null until the first connection; guarded by this. */
    private Domain domain;

    /** Sharing what the first connection will bring. */
    Sharing() {
        late = true;
    }

    /** Sharing what is there, as long as it is. */
    Sharing(Domain domain) {
        late = false;
        this.domain = domain;
    }

    /** Where the domain is; null while it is not known. */
    synchronized DeviceInfo device() {
        return domain == null ? null : domain.device.info();
    }

    /** Set-up pool: the domain for one more connection, which releases it. */
    synchronized Domain retain(Device device) throws IOException {
        if (domain != null && domain.device != device) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "the shared memory is of device "
                    + domain.device.info().name() + ", but the connection goes over " + device.info().name()
                    + ": give it a protection domain of its own");
        }
        if (domain == null || !domain.retain()) {
            if (!late) {
                throw new EndpointException(EndpointException.Reason.CLOSED,
                        "the endpoint that shares its memory is closed");
            }
            domain = new Domain(device, device.allocateProtectionDomain());
        }
        return domain;
    }
}
