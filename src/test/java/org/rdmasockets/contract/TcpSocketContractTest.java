package org.rdmasockets.contract;

/** The JDK's TCP sockets keep the contract: that proves the contract. */
class TcpSocketContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new TcpFixture();
    }
}
