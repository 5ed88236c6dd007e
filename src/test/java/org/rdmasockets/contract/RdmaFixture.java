package org.rdmasockets.contract;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** RDMA sockets on the loopback interface. */
public final class RdmaFixture extends TcpFixture {
    /** The transport that is forced, null to leave it to the sockets. */
    private final Transport forced;

    /**
     * Sockets of one transport.
     *
     * @param forced the transport, null to leave it to the sockets
     */
    public RdmaFixture(Transport forced) {
        this.forced = forced;
    }

    @Override
    public Socket newSocket() throws IOException {
        RdmaSocket socket = new RdmaSocket();
        return forced == null ? socket : socket.setOption(RdmaSocketOptions.TRANSPORT, forced);
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        RdmaServerSocket socket = new RdmaServerSocket();
        return forced == null ? socket : socket.setOption(RdmaSocketOptions.TRANSPORT, forced);
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        if (ability == Ability.URGENT_DATA && forced == Transport.TCP) {
            return Optional.empty();
        }
        return ability == Ability.SILENT_DESTINATION && forced == Transport.SHARED_MEMORY
                ? Optional.of("within a host every destination answers") : super.whyNot(ability);
    }
}
