package org.rdmasockets.provider.sharedmemory.link;

import java.net.InetSocketAddress;
import java.util.Optional;
import org.rdmasockets.verbs.VerbsException;

/**
 * All links of this process: names that it listens on, links to other processes, and one descriptor to wait for.
 * Normally one per process; each further one is to the others like a process of its own.
 *
 * <p>No thread is started here: whoever waits with a {@link HubWaiter} calls {@link #drain}.
 */
public final class LinkHub implements AutoCloseable {
    private LinkHub(LinkOwner owner) {
    }

    /**
     * Tells why processes cannot share memory on this machine now. Harmless on every machine.
     *
     * @return empty if they can; else one sentence with the reason and what to do about it
     */
    public static Optional<String> unavailability() {
        return Optional.of("Shared memory is not built yet in this version");
    }

    /**
     * Makes a hub.
     *
     * @param owner hears of every new link
     * @return a new hub
     * @throws VerbsException if descriptors cannot be had
     */
    public static LinkHub open(LinkOwner owner) throws VerbsException {
        throw notYet();
    }

    private static VerbsException notYet() {
        return new VerbsException("memfd_create", 38, "", "not built yet in this version");
    }

    /**
     * Allocates memory that peers can be given access to.
     *
     * @param bytes at least 1
     * @return the memory
     * @throws VerbsException {@code ENOMEM}, {@code EMFILE} and the like
     */
    public SharedRegion allocate(long bytes) throws VerbsException {
        throw notYet();
    }

    /**
     * Takes the name of an address, exclusively among all processes of this user in this network namespace. Processes
     * that dial it are accepted in {@link #drain}.
     *
     * @param address address or wildcard, and port; port 0 takes a free one
     * @return the listener
     * @throws VerbsException {@code EADDRINUSE} if the name is taken
     */
    public LinkListener listen(InetSocketAddress address) throws VerbsException {
        throw notYet();
    }

    /**
     * Starts to reach the process that listens on an address, or else on the wildcard with the same port. Never waits
     * and sends nothing that another program could get. A listener of this same hub counts as refused: look there
     * first.
     *
     * @param address a specific address and port
     * @param handler gets the outcome
     * @return the attempt, to give it up; it has no time limit of its own
     * @throws VerbsException {@code ECONNREFUSED} if nobody listens, {@code EACCES} if another user does,
     *         {@code EAGAIN} if the listener has too much to do
     */
    public Dial dial(InetSocketAddress address, DialHandler handler) throws VerbsException {
        throw notYet();
    }

    /**
     * Makes something to wait with.
     *
     * @return a new waiter; any number may wait at once
     * @throws VerbsException if no descriptor can be had
     */
    public HubWaiter newWaiter() throws VerbsException {
        throw notYet();
    }

    /**
     * Does what there is to do: accepts links, reads doorbells and announcements, notices deaths. Calls handlers. Never
     * waits for a peer. Threads come in one after another.
     *
     * @return how many descriptors were ready
     * @throws VerbsException if the hub's own descriptor failed
     */
    public int drain() throws VerbsException {
        throw notYet();
    }

    /** Closes all listeners, fails all links (their handlers hear it) and frees the descriptors. Idempotent. */
    @Override
    public void close() {
    }
}
