package org.rdmasockets.contract;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.far.FarServerSocket;
import org.rdmasockets.far.FarSocket;
import org.rdmasockets.far.OtherJvm;

/** Sockets over shared memory of two JVMs: those that connect are in one, those that accept in the other. */
final class TwoJvmsFixture extends TcpFixture {
    private final OtherJvm other;
    private final boolean acceptsThere;

    /** One side is in the other JVM. */
    TwoJvmsFixture(OtherJvm other, boolean acceptsThere) {
        this.other = other;
        this.acceptsThere = acceptsThere;
    }

    @Override
    public Socket newSocket() throws IOException {
        return acceptsThere ? socket() : new FarSocket(other.make(nothing -> socket()));
    }

    private static Socket socket() throws IOException {
        return new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        return acceptsThere ? new FarServerSocket(other.make(nothing -> serverSocket())) : serverSocket();
    }

    private static ServerSocket serverSocket() throws IOException {
        return new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
    }

    /** Everything that one side does is a message to the other JVM. */
    @Override
    public int manyConnections() {
        return 100;
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        return ability == Ability.SILENT_DESTINATION
                ? Optional.of("within a host every destination answers") : super.whyNot(ability);
    }
}
