package org.rdmasockets.contract;

/** RDMA sockets lend what they have received; {@link ReceiveOverTcpTest} is about TCP. */
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.DEVICE})
class ReceiveContractTest extends ReceiveContract {
}
