package org.rdmasockets.contract;

/** Sockets of the JDK: they prove the suite. */
class BacklogOfJavaNetTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new TcpFixture();
    }
}
