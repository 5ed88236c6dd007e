package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA datagram sockets on this host; some are told nothing of transports. */
@RunIn({Place.AUTO, Place.SHARED_MEMORY, Place.LINK, Place.UDP})
class RdmaDatagramSocketTest extends RdmaDatagramSocketContract {
    RdmaDatagramSocketTest(Place place) {
        super(place.transport().orElse(Transport.AUTO), place.transport().orElse(Transport.SHARED_MEMORY));
    }
}
