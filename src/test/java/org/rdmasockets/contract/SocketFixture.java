package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;

/** A family of sockets and the place where it is tried. */
public interface SocketFixture {
    /** Abilities that not every family or place has. */
    enum Ability {
        /** Addresses of version 6. */
        IPV6,
        /** A destination where a connect waits for an answer that never comes. */
        SILENT_DESTINATION,
        /** More connections at once than a handful. */
        MANY_CONNECTIONS,
        /** Urgent data. */
        URGENT_DATA
    }

    /**
     * Makes a socket.
     *
     * @return unconnected
     */
    Socket newSocket() throws IOException;

    /**
     * Makes a server socket.
     *
     * @return unbound
     */
    ServerSocket newServerSocket() throws IOException;

    /**
     * Where sockets of this family listen.
     *
     * @return an address of this machine
     */
    InetAddress address();

    /**
     * Where sockets of this family listen, in version 6.
     *
     * @return an address of this machine, present unless {@link #whyNot} says why not
     */
    Optional<InetAddress> address6();

    /**
     * Makes a destination where a connect waits for an answer that never comes.
     *
     * @param keeper keeps what is needed for it until the end of the trial
     * @return the destination
     */
    InetSocketAddress silentDestination(Keeper keeper) throws IOException;

    /**
     * Tells why something cannot be tried.
     *
     * @param ability the ability that a trial needs
     * @return the reason, empty if it can be tried
     */
    Optional<String> whyNot(Ability ability);

    /**
     * How many connections a trial with many may have.
     *
     * @return a number
     */
    int manyConnections();

    /** Keeps resources until the end of a trial. */
    interface Keeper {
        /**
         * Keeps one.
         *
         * @param <C> its type
         * @param resource closed at the end of the trial
         * @return the resource
         */
        <C extends AutoCloseable> C keep(C resource);
    }
}
