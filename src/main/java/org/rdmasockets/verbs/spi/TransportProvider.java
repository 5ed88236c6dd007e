package org.rdmasockets.verbs.spi;

import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * A provider that the sockets and endpoints of this library go over. Each default promises nothing; a provider
 * overrides what it can do.
 *
 * @since 0.1
 */
public interface TransportProvider extends VerbsProvider {
    /**
     * Tells whether calls that are said to block may do so here.
     *
     * @return false if making, connecting and destroying what a connection needs never waits for the kernel or a peer,
     *         so that any thread may do it
     */
    default boolean mayBlock() {
        return true;
    }

    /**
     * Makes a provider of the same kind that knows nothing of this one, to practise connections on: afterwards all code
     * of this provider is loaded. Its listeners are for that alone.
     *
     * @return a provider for one connection manager, whose close frees all; empty if connections cannot be practised
     */
    default Optional<TransportProvider> rehearsal() {
        return Optional.empty();
    }

    /**
     * Keeps the calling thread on the processors of the NUMA nodes that devices are on
     * ({@code sched_setaffinity}); platform threads only. Threads that it starts inherit that. Replaces
     * what an earlier call has set.
     *
     * @param devices names of devices of this provider; one that is on no node does not count
     * @return the processors as the kernel writes them, such as {@code 0-7,16-23}
     * @throws VerbsException if no device is on a node, or the system refuses; says why. The thread stays as it was
     */
    default String stayNear(Set<String> devices) throws VerbsException {
        throw new VerbsException("sched_setaffinity", Errno.EOPNOTSUPP.number(), "devices=" + devices,
                "a device without hardware is on no NUMA node");
    }

    /**
     * Does what {@link ConnectionIdentifier#resolveAddress} and {@link ConnectionIdentifier#resolveRoute} do, without
     * events, where that needs no answer from elsewhere. The answer to the request for a connection comes to the
     * handler at once, too, from any thread that has heard of it, which may hold locks of the provider: a handler that
     * only notes it saves a thread switch.
     *
     * @param identifier an identifier of this provider
     * @param destination the address to reach
     * @return false if that takes time or is not known; nothing has changed then
     * @throws VerbsException if there is no route
     */
    default boolean resolveAtOnce(ConnectionIdentifier identifier, InetSocketAddress destination)
            throws VerbsException {
        return false;
    }

    /**
     * Whether the process that is to answer is known to be stopped, by SIGSTOP or a debugger, and so will not answer
     * now.
     *
     * @param identifier an identifier of this provider, for which a way is looked for, or that connects
     * @return false also if that is not known
     */
    default boolean isPeerStopped(ConnectionIdentifier identifier) {
        return false;
    }

    /**
     * Names the user whose process is the peer, by the word of the kernel that both run on ({@code SO_PEERCRED}).
     *
     * @param identifier an identifier of this provider
     * @return the number of the user; empty without a peer on this host, where that is not known, and after the end
     */
    default OptionalInt peerUser(ConnectionIdentifier identifier) {
        return OptionalInt.empty();
    }
}
