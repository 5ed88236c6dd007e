package org.rdmasockets.internal.sharedmemory.link;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.ffi.SharedMemoryAvailability;
import org.rdmasockets.internal.ffi.Epoll;
import org.rdmasockets.internal.ffi.EpollWait;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.PortLocks;
import org.rdmasockets.internal.ffi.SharingPolicy;
import org.rdmasockets.internal.ffi.SocketDirectory;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * All links of this process: names that it listens on, links to other processes, and the descriptors to wait for.
 * Normally one per process; to the others, each further one is like a process of its own.
 *
 * <p>No thread is started here: a thread that waits with a {@link HubWaiter} drains the hub.
 */
public final class LinkHub implements AutoCloseable {
    /** The error number of a packet socket that has nothing now. */
    static final int AGAIN = Errno.EAGAIN.number();

    /** The property that names a directory for processes of other network namespaces. */
    public static final String DIRECTORY_SETTING = SharingPolicy.DIRECTORY;

    private static final Log LOG = new Log(LinkHub.class);
    private static final LimitedLog STRANGERS = new LimitedLog(LOG);
    private static final LimitedLog REFUSALS = new LimitedLog(LOG);
    /**
     * Most connections that are not links yet: further ones wait, and the oldest is dropped if it is silent.
     */
    private static final int MOST_ARRIVALS = 256;
    /** The same for one process. */
    private static final int MOST_ARRIVALS_OF_PROCESS = 64;
    /** An honest process has one link, or two if both dialled at once. */
    static final int MOST_LINKS_OF_PROCESS = 64;
    /** The part of this process's descriptors that all links together may take: one in this many. */
    private static final int LINKS_PART = 4;
    private static final int FEWEST_LINKS = 16;
    /** As many as a process has descriptors, unless the kernel's limit was raised. */
    private static final int MOST_SOURCES = 1 << 20;

    /** Gives each new link its handler. */
    @FunctionalInterface
    public interface LinkOwner {
        /**
         * Gives the handler for all that comes over a link to another process, which is about to carry entries. Called
         * in the thread that calls {@link HubWaiter#drain}, before any other call about the link. A link is the same on
         * both sides, whichever dialled. Must neither throw nor drain the link.
         */
        LinkHandler onLink(Link link);
    }

    /**
     * Lets one thread at a time wait for the hub, and any thread wake it. The waiting thread handles by {@link #drain}
     * what it is told of, so other waiters need not be told.
     */
    public final class HubWaiter implements AutoCloseable {
        private final EpollWait wait;
        /** How many sockets the last wait found; the waiting thread only. */
        private int found;

        private HubWaiter() throws VerbsException {
            wait = EpollWait.on(sockets);
        }

        /**
         * Waits until the hub has something to do, {@link #wakeup} is called or the time is over: in milliseconds, 0 to
         * look only, negative for no limit. True if the hub has something to do. <em>Blocks</em>, in the system call: a
         * virtual thread keeps its carrier. One thread at a time. Throws if waiting failed, or this is closed.
         */
        public boolean await(int timeoutMillis) throws VerbsException {
            found = wait.await(timeoutMillis);
            return found > 0;
        }

        /**
         * Does what the last wait found: accepts links, reads doorbells and announcements, notices deaths. Calls
         * handlers. Never waits for a peer. Threads take turns. If this fails, the next wait finds what is left.
         */
        public void drain() {
            drainLock.lock();
            try {
                for (int i = 0; i < found; i++) {
                    Source source = sources.find((int) wait.data(i));
                    if (source != null) {
                        serve(source);
                    }
                }
            } finally {
                drainLock.unlock();
            }
            found = 0;
        }

        /** Ends a wait in progress, or the next one, early. Never blocks; harmless when closed. */
        public void wakeup() {
            wait.wakeup();
        }

        /** Ends the wait in progress without waiting for it: the last to leave frees the descriptors. */
        @Override
        public void close() {
            wait.close();
        }
    }

    private final LinkOwner owner;
    final boolean linksToItself;
    final SharingPolicy policy = SharingPolicy.current();
    final long number = PacketSocket.randomNumber();
    private final Epoll sockets;
    private final HandleTable<Source> sources = new HandleTable<>(10, MOST_SOURCES);
    /** Links by their peer; if a race has made two to one peer, the later. */
    private final Map<PeerId, Link> links = new ConcurrentHashMap<>();
    private final Set<Link> all = ConcurrentHashMap.newKeySet();
    private final int mostLinks = Math.max(FEWEST_LINKS, PacketSocket.mostDescriptors() / LINKS_PART);
    /** Held while draining. */
    private final SmallMutex drainLock = new SmallMutex();
    /** Guarded by drainLock. */
    private final PacketBuffer buffer = new PacketBuffer();
    /** Oldest first; guarded by drainLock. */
    private final ArrayDeque<IncomingLink> arrivals = new ArrayDeque<>();
    /** A descriptor to give up when there are no more, so that a connection can be refused; guarded by drainLock. */
    private PacketSocket spare;
    /** The network namespace of this process, by the kernel's number. */
    private final long network;
    private volatile boolean closed;

    private LinkHub(LinkOwner owner, boolean linksToItself) throws VerbsException {
        this.owner = owner;
        this.linksToItself = linksToItself;
        sockets = Epoll.create();
        try {
            spare = PacketSocket.unnamed();
            network = policy.isExtended() ? spare.networkNamespace() : 0;
        } catch (Throwable e) {
            if (spare != null) {
                spare.close();
            }
            sockets.close();
            throw e;
        }
    }

    /** Why processes cannot share memory here now, and the remedy; empty if they can. Harmless anywhere. */
    public static Optional<String> unavailability() {
        return SharedMemoryAvailability.problem();
    }

    /** Makes a hub, whose owner hears of every new link. Ask {@link #unavailability} first. */
    public static LinkHub open(LinkOwner owner) throws VerbsException {
        return new LinkHub(owner, false);
    }

    /** Makes a hub that can dial its own listeners, so that tests of both ends need one process only. */
    public static LinkHub openToItself(LinkOwner owner) throws VerbsException {
        return new LinkHub(owner, true);
    }

    /**
     * Allocates at least 1 byte of zeroed memory that peers can be given access to, which takes up room only where it
     * is touched; throws {@code ENOMEM}, {@code EMFILE} and the like.
     */
    public SharedRegion allocate(long bytes) throws VerbsException {
        return SharedRegion.allocate(bytes);
    }

    /** Reads the first 4 KiB of a small file of the kernel at one go. */
    public static String readKernels(Path file) throws IOException {
        return SharedMemoryAvailability.read(file);
    }

    /**
     * Holds a port number for a connection, among all processes of this user in this network namespace; false if
     * another holds it. Only where a hub is open.
     */
    public static boolean tryHold(int port) {
        return PortLocks.tryLock(port);
    }

    /** Gives a port number back that was held. */
    public static void giveBack(int port) {
        PortLocks.unlock(port);
    }

    /**
     * Takes the name of an address or wildcard and a port, not 0, exclusively among all processes of this user in this
     * network namespace. Processes that dial it are accepted in {@link HubWaiter#drain}. Throws {@code EADDRINUSE} if
     * the name is taken.
     */
    public LinkListener listen(InetSocketAddress address) throws VerbsException {
        return LinkListener.open(this, address, false);
    }

    /**
     * Starts to reach the process that listens on a specific address, or else on the wildcard with the same port. Never
     * waits and sends nothing that another program could get; the attempt has no time limit of its own, but can be
     * given up. A listener of this same hub counts as refused: look there first. Throws {@code ECONNREFUSED} with the
     * reason if no process listens, or only one of a user that is not permitted, {@code EAGAIN} if the listener has too
     * much to do.
     */
    public LinkConnector dial(InetSocketAddress address, LinkConnector.DialHandler handler) throws VerbsException {
        try {
            return dial(address, false, handler);
        } catch (VerbsException e) {
            throw e.errno() == Errno.ECONNREFUSED ? refusal(address) : e;
        }
    }

    private LinkConnector dial(InetSocketAddress address, boolean datagrams, LinkConnector.DialHandler handler)
            throws VerbsException {
        StackRoom.ensureSection(); // for the connector's close, too
        String name = LinkListener.name(address, datagrams);
        return LinkConnector.start(this, connect(address, name, LinkListener.wildcard(address, datagrams)), name,
                handler);
    }

    private PacketSocket connect(InetSocketAddress address, String name, String wildcard) throws VerbsException {
        try {
            return SocketDirectory.own().connect(name, wildcard);
        } catch (VerbsException e) {
            if (e.errno() != Errno.ECONNREFUSED && e.errno() != Errno.EACCES || !policy.spansNetworks()
                    || isLocal(address.getAddress())) {
                throw e;
            }
        }
        return SocketDirectory.own().connectElsewhere(LinkListener.host(address), name, wildcard);
    }

    /** Whether an address is one of this host, as this network namespace has them. */
    public static boolean isLocal(InetAddress host) {
        if (host.isLoopbackAddress()) {
            return true;
        }
        try {
            return NetworkInterface.getByInetAddress(host) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    /** Whether the settings name a directory for processes of other network namespaces, and memory can be shared. */
    public static boolean spansNetworks() {
        return SharingPolicy.current().spansNetworks() && unavailability().isEmpty();
    }

    /** Whether a process in another network namespace listens on an address, or seems to. */
    public static boolean isElsewhere(InetSocketAddress address) {
        return spansNetworks() && !isLocal(address.getAddress())
                && SocketDirectory.own().isElsewhere(LinkListener.host(address), LinkListener.name(address, false),
                        LinkListener.wildcard(address, false));
    }

    /** Whether a connection that a listener accepted is of this network namespace, by the kernel's word. */
    boolean isNear(PacketSocket accepted) {
        return !policy.isExtended() || network == 0 && !policy.spansNetworks()
                || network != 0 && accepted.networkNamespace() == network;
    }

    /**
     * Takes the name of an address or wildcard and a port, not 0, for datagrams, which listeners of streams do not
     * meet; throws {@code EADDRINUSE} if the name is taken.
     */
    public LinkListener listenForDatagrams(InetSocketAddress address) throws VerbsException {
        return LinkListener.open(this, address, true);
    }

    /** Starts to reach the process that takes datagrams for an address, as {@link #dial} does for streams. */
    public LinkConnector dialForDatagrams(InetSocketAddress address, LinkConnector.DialHandler handler)
            throws VerbsException {
        return dial(address, true, handler);
    }

    /** The reason why no process listens for us: perhaps the listener is another user's, or in another container. */
    private static VerbsException refusal(InetSocketAddress address) {
        String name = LinkListener.name(address, false);
        long user = SocketDirectory.own().otherUser(name, LinkListener.wildcard(address, false));
        return new VerbsException("connect", Errno.ECONNREFUSED.number(), "name=" + name, user < 0
                ? SharingPolicy.NO_LISTENER : "the listener is user " + user + "'s, this is user "
                + Integer.toUnsignedString(PacketSocket.ownUser()) + ", and " + SharingPolicy.remedy((int) user));
    }

    /** Makes something to wait with; any number may wait at once. Throws if no descriptor can be had. */
    public HubWaiter newWaiter() throws VerbsException {
        return new HubWaiter();
    }

    private void serve(Source source) {
        try {
            source.ready(buffer);
        } catch (Throwable e) {
            source.failed();
            throw e;
        }
    }

    /** Begins to watch a source for packets; if that fails, it is forgotten. */
    void watch(Source source) throws VerbsException {
        source.number = sources.reserve();
        try {
            sources.put(source.number, source);
            if (source.number == 0) {
                throw new VerbsException("epoll_ctl", Errno.ENFILE.number(), "sockets=" + MOST_SOURCES,
                        "this process has as many links and listeners over shared memory as it can: close some");
            }
            if (closed) {
                throw new VerbsException("epoll_ctl", Errno.ESHUTDOWN, "the device is closed");
            }
            watchFor(source, Epoll.READABLE);
        } catch (Throwable e) {
            forget(source);
            throw e;
        }
    }

    /** Changes what a source is watched for; if that fails, it is not watched any more. */
    void watchFor(Source source, int interest) throws VerbsException {
        sockets.watch(source.socket, interest, source.number);
    }

    /** Lets all peers know that this does not listen any more on an address where they may have found it. */
    void nameGivenUp() {
        all.forEach(Link::nameGivenUp);
    }

    /** Forgets a source; its socket is closed by the caller. */
    void forget(Source source) {
        sources.remove(source.number);
    }

    /** Forgets a link. */
    void forget(Link link) {
        links.remove(link.peer, link);
        all.remove(link);
        sources.remove(link.number);
    }

    /** All links; perhaps also those that begin or end meanwhile. */
    public Iterable<Link> links() {
        return all;
    }

    /** The link to a peer that can serve for further connections, or null. */
    Link linkTo(PeerId peer) {
        Link link = peer.isCertain() ? links.get(peer) : null;
        return link != null && link.isOpen() ? link : null;
    }

    /** A peer is of this network namespace, and so are all links to it. */
    void nearby(PeerId peer) {
        for (Link link : all) {
            if (link.peer.equals(peer)) {
                link.near = true;
            }
        }
    }

    /**
     * Takes a connection that a listener accepted, if its user is permitted, else closes it. True if it was taken and
     * is of this process's user: the listener takes a bounded number of others at a time.
     */
    boolean welcome(PacketSocket accepted) {
        boolean kept = false;
        try {
            kept = admit(accepted);
            return kept && accepted.peer().user() == PacketSocket.ownUser();
        } catch (VerbsException e) {
            LOG.debug("A process that connected was dropped: {}", e.getMessage());
            return false;
        } finally {
            if (!kept) {
                accepted.close();
            }
        }
    }

    /** Whether the connection is wanted; else the caller closes it. */
    private boolean admit(PacketSocket accepted) throws VerbsException {
        PacketSocket.Peer peer = accepted.peer();
        if (!policy.permits(peer, accepted)) {
            STRANGERS.warn("Process {} of user {} wanted to share memory with this one, of user {}, and was refused: "
                    + "{}", peer.process(), Integer.toUnsignedString(peer.user()),
                    Integer.toUnsignedString(PacketSocket.ownUser()), SharingPolicy.remedy(peer.user()));
            LinkPacket.write(buffer, LinkPacket.REFUSED, peer.user(), 0);
            accepted.send(buffer, LinkPacket.BYTES, -1);
            return false;
        }
        PeerId process = process(accepted);
        String excess = excess(process);
        if (excess != null) {
            REFUSALS.warn("Process {} of user {} wanted to share memory and was refused: {}", peer.process(),
                    Integer.toUnsignedString(peer.user()), excess);
            return false;
        }
        accepted.admitDescriptors();
        IncomingLink arrival = new IncomingLink(this, accepted, process);
        try {
            arrivals.add(arrival);
            watch(arrival);
        } catch (Throwable e) {
            dropped(arrival);
            throw e;
        }
        return true;
    }

    /** Whether another connection can be taken, perhaps in place of the oldest, if that is silent; else it waits. */
    boolean hasRoom() {
        if (arrivals.size() < MOST_ARRIVALS) {
            return true;
        }
        IncomingLink oldest = arrivals.peek();
        if (oldest.isSilent()) {
            oldest.finish();
        }
        return arrivals.size() < MOST_ARRIVALS;
    }

    /** The process at the other end of a socket, by the kernel's word; its hub is not known yet. */
    PeerId process(PacketSocket socket) throws VerbsException {
        PacketSocket.Peer peer = socket.peer();
        return new PeerId(peer.process(), policy.isExtended() ? socket.peerInode() : 0, peer.user(), 0);
    }

    /** Why a process gets no further link, or null; drops its oldest arrival for room, if that is silent. */
    private String excess(PeerId process) {
        if (all.size() >= mostLinks) {
            return "this process has " + mostLinks + " links to others, a quarter of its descriptors; raise ulimit -n";
        }
        boolean other = process.user() != PacketSocket.ownUser();
        int links = 0;
        int ofOthers = 0;
        for (Link link : all) {
            links += process.isOfProcess(link.peer) ? 1 : 0;
            ofOthers += link.peer.user() != PacketSocket.ownUser() ? 1 : 0;
        }
        if (links >= MOST_LINKS_OF_PROCESS) {
            return "it has " + MOST_LINKS_OF_PROCESS + " links to this process, and an honest one has one";
        }
        IncomingLink oldest = null;
        int count = 0;
        int arrivalsOfOthers = 0;
        for (IncomingLink arrival : arrivals) {
            arrivalsOfOthers += arrival.process.user() != PacketSocket.ownUser() ? 1 : 0;
            if (process.isOfProcess(arrival.process)) {
                oldest = oldest == null ? arrival : oldest;
                count++;
            }
        }
        if (other && (ofOthers >= mostLinks / 2 || arrivalsOfOthers >= MOST_ARRIVALS / 2)) {
            return "processes of other users have half of the links, or of the connections that are not links yet; the "
                    + "rest is for this user's own";
        }
        if (count >= MOST_ARRIVALS_OF_PROCESS && oldest.isSilent()) {
            oldest.finish();
        }
        return null;
    }

    /**
     * Refuses a connection for which there is no descriptor: else the listener would be ready for ever. False if even
     * the spare descriptor was taken by another thread.
     */
    boolean refuseOne(PacketSocket listener, VerbsException reason) {
        REFUSALS.warn("A process that wanted to share memory is refused: {}", reason.getMessage());
        spare.close();
        try {
            PacketSocket refused = listener.accept();
            if (refused != null) {
                refused.close(); // its descriptor is free a little later
            }
            spare = PacketSocket.unnamed();
            return true;
        } catch (VerbsException e) {
            LOG.debug("There is no spare descriptor until another is free: {}", e.getMessage());
            return false;
        }
    }

    /** An arrival became a link. */
    void arrived(IncomingLink arrival, Link link) {
        arrivals.remove(arrival);
        begin(link, arrival);
    }

    /** An arrival is not wanted any more. */
    void dropped(IncomingLink arrival) {
        arrivals.remove(arrival);
        forget(arrival);
    }

    /** Makes a link known in place of what its socket was before, or closes it. */
    void begin(Link link, Source before) {
        // First, so that an owner may close the link at once.
        link.number = before.number;
        try {
            links.put(link.peer, link);
            all.add(link);
            sources.put(link.number, link);
            for (IncomingLink arrival : arrivals) { // both ends have dialled
                link.near |= arrival.isFrom(link.peer);
            }
            link.begin(owner);
            link.watch();
        } catch (Throwable e) {
            if (link.handler() == null) {
                link.close();
            } else { // its handler may have told others of it
                link.end("there was no memory to begin it");
            }
            throw e;
        }
    }

    /** Closes all listeners, fails all links (their handlers hear it) and frees the descriptors. Idempotent. */
    @Override
    public void close() {
        drainLock.lock();
        try {
            if (!closed) {
                closed = true;
                sources.all().forEach(Source::finish);
                sockets.close();
                spare.close();
            }
        } finally {
            drainLock.unlock();
        }
    }
}
