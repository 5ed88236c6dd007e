package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The base of all contracts of sockets: sockets of the family, closed at the end of each trial. Most of a trial is
 * waiting, so those of one family run beside each other.
 */
@Execution(ExecutionMode.CONCURRENT)
abstract class SocketContract implements SocketFixture.Keeper, Placed {
    /** Resources to close, last made first. */
    private final Deque<AutoCloseable> kept = new ConcurrentLinkedDeque<>();

    private SocketFixture fixture;

    @Override
    public final void runsIn(Place.Entered where) {
        fixture = where.fixture();
    }

    /** The family that is tried. */
    SocketFixture fixture() {
        return fixture;
    }

    /** Two connected sockets. */
    record SocketPair(Socket client, Socket server) {
    }

    @Override
    public final <C extends AutoCloseable> C keep(C resource) {
        kept.push(resource);
        return resource;
    }

    @AfterEach
    final void closeAll() throws Exception {
        while (!kept.isEmpty()) {
            kept.pop().close();
        }
    }

    final Socket socket() throws IOException {
        return keep(fixture().newSocket());
    }

    final ServerSocket serverSocket() throws IOException {
        return keep(fixture().newServerSocket());
    }

    /** A server socket that listens on a free port. */
    final ServerSocket listening() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        return listener;
    }

    /** Where to connect to. */
    final InetSocketAddress addressOf(ServerSocket listener) {
        return new InetSocketAddress(fixture().address(), listener.getLocalPort());
    }

    final Socket connectedTo(ServerSocket listener) throws IOException {
        Socket client = socket();
        client.connect(addressOf(listener));
        return client;
    }

    final Socket acceptFrom(ServerSocket listener) throws IOException {
        return keep(listener.accept());
    }

    final SocketPair pair() throws IOException {
        ServerSocket listener = listening();
        Socket client = connectedTo(listener);
        SocketPair pair = new SocketPair(client, acceptFrom(listener));
        listener.close();
        return pair;
    }

    /** An operation that has to fail; where the JDK leaves it at a text, a device may add a reason. */
    static void assertRefused(Class<? extends Exception> type, String text, Executable operation) {
        Exception e = Assertions.assertThrows(type, operation);
        Assertions.assertTrue(String.valueOf(e.getMessage()).startsWith(text), e::toString);
    }

    /** Skips the trial with the reason if the family or the place lacks something. */
    final void needs(SocketFixture.Ability ability) {
        fixture().whyNot(ability).ifPresent(reason -> {
            System.out.println(getClass().getSimpleName() + " skips a trial, " + ability + ": " + reason);
            Assumptions.abort(reason);
        });
    }
}
