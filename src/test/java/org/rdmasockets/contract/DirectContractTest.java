package org.rdmasockets.contract;

/** RDMA sockets send from buffers of their own; over TCP they take the same buffers. */
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.TCP, Place.DEVICE})
class DirectContractTest extends DirectContract {
}
