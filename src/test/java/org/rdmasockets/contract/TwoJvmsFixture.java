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
class TwoJvmsFixture extends TcpFixture {
    private final OtherJvm other;
    private final boolean acceptsThere;
    private final Transport transport;

    /** One side is in the other JVM. */
    TwoJvmsFixture(OtherJvm other, boolean acceptsThere) {
        this(other, acceptsThere, Transport.SHARED_MEMORY);
    }

    /** One side is in the other JVM, wherever that is. */
    TwoJvmsFixture(OtherJvm other, boolean acceptsThere, Transport transport) {
        this.other = other;
        this.acceptsThere = acceptsThere;
        this.transport = transport;
    }

    @Override
    public Socket newSocket() throws IOException {
        String over = transport.name();
        return acceptsThere ? socket(over) : new FarSocket(other.make(nothing -> socket(over)));
    }

    private static Socket socket(String transport) throws IOException {
        return new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, new Transport(transport, ""));
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        String over = transport.name();
        return acceptsThere ? new FarServerSocket(other.make(nothing -> serverSocket(over))) : serverSocket(over);
    }

    private static ServerSocket serverSocket(String transport) throws IOException {
        return new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, new Transport(transport, ""));
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
