package org.rdmasockets.provider.sharedmemory;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.SocketContract;
import org.rdmasockets.contract.SocketFixture;
import org.rdmasockets.contract.TcpFixture;
import org.rdmasockets.provider.Replacement;

/** RDMA sockets keep the contract over a link of shared memory, as between two processes: both ends are in this one. */
class RdmaSocketOverLinkContractTest extends SocketContract {
    private static Replacement replacement;

    @BeforeAll
    static void reachThisProcessByALink() {
        replacement = new Replacement(new SharedMemoryProvider(true));
    }

    @AfterAll
    static void putBack() {
        replacement.close();
    }

    @Override
    protected SocketFixture fixture() {
        return new TcpFixture() {
            @Override
            public Socket newSocket() throws IOException {
                return new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            }

            @Override
            public ServerSocket newServerSocket() throws IOException {
                return new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            }

            @Override
            public Optional<String> whyNot(Ability ability) {
                return ability == Ability.SILENT_DESTINATION
                        ? Optional.of("within a host every destination answers") : super.whyNot(ability);
            }
        };
    }
}
