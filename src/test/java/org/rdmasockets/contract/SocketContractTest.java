package org.rdmasockets.contract;

/** Sockets keep their contracts: those of the JDK, which prove them, and RDMA sockets over all that carries them. */
@RunIn({Place.JAVA_NET, Place.AUTO, Place.TCP, Place.LINK, Place.TO_ANOTHER_JVM, Place.FROM_ANOTHER_JVM, Place.DEVICE})
class SocketContractTest extends SocketContracts {
}
