package org.rdmasockets.internal.sharedmemory;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/**
 * An identifier: the state of a connection, and how it changes. The monitor guards the state; neither a handler nor the
 * {@link ConnectionPeer} is called under it.
 */
final class SharedMemoryIdentifier implements ConnectionIdentifier, ConnectionPeer {
    /** Reason codes of the InfiniBand connection manager. */
    static final int NO_RESOURCES = 3;
    static final int NOBODY_LISTENS = 8;
    static final int CONSUMER_REJECTED = 28;

    private static final Log LOG = new Log(SharedMemoryIdentifier.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);
    private static final InetSocketAddress UNBOUND = new InetSocketAddress(0);
    private static final int MAX_REQUEST_BYTES = 56;
    private static final int MAX_ANSWER_BYTES = 196;
    private static final int MAX_REJECTION_BYTES = 148;
    /** Requests that may always wait, whatever the backlog: the event thread takes them soon. */
    private static final int LEAST_REQUESTS = 128;
    private static final int TRIES = 10;

    /** How far the connection has come. */
    private enum State {
        IDLE, BINDING, BOUND, ADDRESS_RESOLVED, RESOLVING_ROUTE, ROUTE_RESOLVED, LISTENING, CONNECTING, REQUESTED,
        ACCEPTING, CONNECTED, ENDED
    }

    private final SharedMemoryConnectionManager manager;
    /** Called without a lock, except for an answer at once. Guarded by this, as are all fields below. */
    private ConnectionHandler handler;
    /** The thread in the handler, or null. */
    private Thread dispatcher;
    /** No handler is called any more. */
    private boolean closed;
    /** The handler takes an answer at once, from any thread. */
    private boolean answersAtOnce;
    private State state = State.IDLE;
    /** Of a listener: the requests that no handler has got; else null. */
    private List<SharedMemoryIdentifier> requests;
    /** Most of these requests; 0 after the close. */
    private int mostRequests;
    /** The search for another process, or null. */
    private RouteSearch search;
    private InetSocketAddress local = UNBOUND;
    private InetSocketAddress remote;
    /** The port that is held, or null. */
    private PortTable.Claim claim;
    private boolean chosenPort;
    private SharedMemoryQueuePair queuePair;
    /**
     * The other end, from the request on; written under this once, read without it by threads that saw the state after.
     */
    private volatile ConnectionPeer partner;
    /** Of a request: what the partner asked for; read without this by the one thread that accepts. */
    private volatile ConnectionParameters asked;
    /** Whether the partner went while its request was being accepted. */
    private boolean partnerGone;

    SharedMemoryIdentifier(SharedMemoryConnectionManager manager) {
        this.manager = manager;
        fabric().identifiers.add(this);
    }

    private SharedMemoryFabric fabric() {
        return manager.fabric;
    }

    /** Gives an event to the handler; drops it if this is closed. */
    void deliver(ConnectionEvent event) {
        if (!(event instanceof ConnectionEvent.ConnectRequest arrived)) {
            dispatch(event);
            return;
        }
        SharedMemoryIdentifier request = (SharedMemoryIdentifier) arrived.identifier();
        if (!takeOut(request)) {
            return;
        }
        boolean kept = false;
        boolean thrown = true;
        try {
            kept = dispatch(event);
            thrown = false;
        } finally {
            boolean again = false;
            try {
                again = thrown && takeIn(request);
            } finally {
                if (!kept && !again) {
                    request.close();
                }
            }
        }
    }

    /**
     * Gives an event to the handler; false if there is no handler, or this is closed. If this throws the handler's
     * {@code Error}, the caller has to give the event again.
     */
    private boolean dispatch(ConnectionEvent event) {
        StackRoom.ensureSection(); // for the call that reports the handler's end: a close waits for it
        ConnectionHandler current;
        synchronized (this) {
            if (closed || handler == null) {
                return false;
            }
            current = handler;
            dispatcher = Thread.currentThread();
        }
        try {
            current.onEvent(this, event);
        } catch (RuntimeException e) {
            LIMITED.error("the handler of a connection must not throw: event {}", event, e);
        } finally {
            synchronized (this) {
                dispatcher = null;
                notifyAll();
            }
        }
        return true;
    }

    /** Waits until no handler runs, unless the caller is in one. Keeps an interrupt. */
    private synchronized void awaitDispatched() {
        boolean interrupted = false;
        while (dispatcher != null && dispatcher != Thread.currentThread()) {
            interrupted |= LibraryThreads.awaitNotify(this);
        }
        LibraryThreads.restore(interrupted);
    }

    @Override
    public synchronized void handler(ConnectionHandler newHandler) {
        handler = Objects.requireNonNull(newHandler);
    }

    /** Keeps a request until a handler gets it; false if this is closed, or too many wait. */
    private synchronized boolean takeIn(SharedMemoryIdentifier request) {
        return requests.size() < mostRequests && requests.add(request);
    }

    /** Takes a request out for a handler; false if it is not here any more. */
    private synchronized boolean takeOut(SharedMemoryIdentifier request) {
        return requests.remove(request);
    }

    private void add(ConnectionEvent event) {
        manager.add(this, event);
    }

    /** The other end has answered; the monitor is held, so this is not closed meanwhile. */
    private void answered(ConnectionEvent answer) {
        if (answersAtOnce && !closed) {
            handler.onEvent(this, answer);
        } else {
            add(answer);
        }
    }

    /** Refuses a call if this is closed or in another state; the monitor is held. */
    private void require(String call, State allowed) throws VerbsException {
        require(call, allowed, allowed);
    }

    private void require(String call, State oneAllowed, State otherAllowed) throws VerbsException {
        SharedMemoryErrors.requireOpen(!closed, call, "connection identifier");
        if (state != oneAllowed && state != otherAllowed) {
            throw SharedMemoryErrors.invalid(call, peerText(), "the identifier is not in the right state: " + state);
        }
    }

    private String peerText() {
        return "local=" + SharedMemoryErrors.text(local) + ", remote=" + SharedMemoryErrors.text(remote);
    }

    /** Does nothing: no packet goes over a network. */
    @Override
    public void trafficClass(int bits) {}

    @Override
    public void bind(InetSocketAddress wanted) throws VerbsException {
        synchronized (this) {
            require("rdma_bind_addr", State.IDLE);
            LocalAddresses.require(fabric(), "rdma_bind_addr", wanted);
            state = State.BINDING;
        }
        PortTable.Claim taken = null;
        try {
            taken = fabric().ports.claim(wanted);
        } finally {
            bound(taken, wanted.getPort() == 0);
        }
    }

    /** Ends {@link #bind}, whether there is a claim or not. */
    private void bound(PortTable.Claim taken, boolean chosen) throws VerbsException {
        synchronized (this) {
            if (taken == null) {
                state = State.IDLE;
                return;
            }
            if (!closed) {
                claim = taken;
                chosenPort = chosen;
                local = taken.address;
                state = State.BOUND;
                return;
            }
        }
        fabric().ports.release(taken);
        throw SharedMemoryErrors.closed("rdma_bind_addr", "connection identifier");
    }

    @Override
    public void listen(int mostWaiting) throws VerbsException {
        if (isIdle()) {
            bind(UNBOUND);
        }
        PortTable.Claim bound = bound();
        if (bound != null) {
            fabric().ports.name(bound);
        }
        startListening(mostWaiting);
    }

    /** The claim, if this is bound and no more. */
    private synchronized PortTable.Claim bound() {
        return state == State.BOUND && !closed ? claim : null;
    }

    private synchronized boolean isIdle() {
        return state == State.IDLE && !closed;
    }

    private synchronized void startListening(int mostWaiting) throws VerbsException {
        require("rdma_listen", State.BOUND);
        requests = new ArrayList<>();
        mostRequests = Math.max(mostWaiting, LEAST_REQUESTS);
        state = State.LISTENING;
        fabric().ports.listen(claim, this);
    }

    @Override
    public void resolveAddress(InetSocketAddress wanted, int timeoutMillis) throws VerbsException {
        synchronized (this) {
            require("rdma_resolve_addr", State.IDLE, State.BOUND);
        }
        LocalAddresses.requireReachable(fabric(), wanted);
        InetSocketAddress destination = LocalAddresses.recent(LocalAddresses.destination(wanted));
        if (isIdle()) {
            bind(new InetSocketAddress(LocalAddresses.source(destination), 0));
        }
        synchronized (this) {
            resolved(destination);
            add(new ConnectionEvent.AddressResolved());
        }
    }

    /** As {@link SharedMemoryProvider#resolveAtOnce} says. */
    boolean resolveAtOnce(InetSocketAddress wanted) throws VerbsException {
        LocalAddresses.requireReachable(fabric(), wanted);
        InetSocketAddress destination = LocalAddresses.recent(LocalAddresses.destination(wanted));
        RouteSearch known = null;
        if (isElsewhere(destination)) {
            known = new RouteSearch(fabric(), this);
            if (!known.isKnown(destination)) {
                return false;
            }
        }
        if (isIdle()) {
            bind(new InetSocketAddress(LocalAddresses.source(destination), 0));
        }
        synchronized (this) {
            resolved(destination);
            search = known;
            answersAtOnce = true;
            state = State.ROUTE_RESOLVED;
        }
        return true;
    }

    private boolean isElsewhere(InetSocketAddress destination) {
        return fabric().linksOnly || fabric().ports.listener(destination) == null;
    }

    /** Takes a destination up; the monitor is held. */
    private void resolved(InetSocketAddress destination) throws VerbsException {
        require("rdma_resolve_addr", State.BOUND);
        fabric().ports.connect(claim, chosenPort);
        if (local.getAddress().isAnyLocalAddress()) {
            local = new InetSocketAddress(destination.getAddress(), local.getPort());
        }
        remote = destination;
        state = State.ADDRESS_RESOLVED;
    }

    @Override
    public void resolveRoute(int timeoutMillis) throws VerbsException {
        RouteSearch elsewhere = null;
        synchronized (this) {
            require("rdma_resolve_route", State.ADDRESS_RESOLVED);
            state = State.RESOLVING_ROUTE;
            if (isElsewhere(remote)) {
                search = new RouteSearch(fabric(), this);
                elsewhere = search;
            }
        }
        if (elsewhere != null) {
            elsewhere.start(remoteAddress(), timeoutMillis);
        } else {
            routed();
        }
    }

    /** The process that listens on the destination was found. */
    synchronized void routed() {
        if (state == State.RESOLVING_ROUTE) {
            add(new ConnectionEvent.RouteResolved()); // first, as the others below: an Error leaves the state as it is
            state = State.ROUTE_RESOLVED;
        }
    }

    /** No process listens on the destination, or none that this one may reach. */
    synchronized void unrouted(int errorNumber, String reason) {
        if (state == State.RESOLVING_ROUTE) {
            add(new ConnectionEvent.Failed("rdma_resolve_route", errorNumber, reason));
            state = State.ENDED;
        }
    }

    @Override
    public synchronized Device device() {
        return local.getAddress().isAnyLocalAddress() ? null : fabric().device;
    }

    @Override
    public int portNumber() {
        return device() == null ? 0 : 1;
    }

    /** A domain for this connection alone, if it is known by now to which process that goes. */
    @Override
    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        synchronized (this) {
            if (!closed && isBetweenTwo()) {
                LinkDispatcher end = link();
                return new SharedMemoryProtectionDomain(fabric().device, end, end == null);
            }
        }
        return ConnectionIdentifier.super.allocateProtectionDomain();
    }

    /** Whether the other process is known; the monitor is held. */
    private boolean isBetweenTwo() {
        return state == State.ROUTE_RESOLVED || state == State.REQUESTED;
    }

    /** The link to the other process; null if that is this one; the monitor is held. */
    private LinkDispatcher link() {
        if (state == State.ROUTE_RESOLVED) {
            return search == null ? null : search.route();
        }
        return partner instanceof RemotePeer peer ? peer.end : null;
    }

    @Override
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) throws VerbsException {
        return makeQueuePair(domain, config, null);
    }

    @Override
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config, SharedReceiveQueue receives)
            throws VerbsException {
        if (!(receives instanceof SharedMemorySharedReceiveQueue own)) {
            throw new IllegalArgumentException("the shared receive queue belongs to another device");
        }
        return makeQueuePair(domain, config, own);
    }

    private synchronized QueuePair makeQueuePair(ProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue receives) throws VerbsException {
        SharedMemoryErrors.requireOpen(!closed, "rdma_create_qp", "connection identifier");
        if (!(domain instanceof SharedMemoryProtectionDomain own) || own.device() != device()) {
            throw SharedMemoryErrors.invalid("rdma_create_qp", peerText(), device() == null
                    ? "resolve or bind the address first: no device is known yet"
                    : "the protection domain belongs to another device");
        }
        if (state != State.ENDED && !(isBetweenTwo() ? own.serves(link()) : own.servesAll())) {
            throw SharedMemoryErrors.invalid("rdma_create_qp", peerText(),
                    "the protection domain is that of another connection");
        }
        if (queuePair != null && !queuePair.closed) {
            throw SharedMemoryErrors.invalid("rdma_create_qp", peerText(), "this identifier has a queue pair already");
        }
        queuePair = SharedMemoryQueuePair.create(own, config, receives);
        return queuePair;
    }

    /** The queue pair; null if there is none. */
    synchronized SharedMemoryQueuePair queuePair() {
        return queuePair;
    }

    /** The queue pair that a call needs, with private data that fits; the monitor is held. */
    private SharedMemoryQueuePair checkedQueuePair(String call, ConnectionParameters parameters, int mostBytes)
            throws VerbsException {
        checkPrivateData(call, parameters.privateDataBytes(), mostBytes);
        if (queuePair == null) {
            throw SharedMemoryErrors.invalid(call, peerText(), "make a queue pair for this identifier first");
        }
        return queuePair;
    }

    private static void checkPrivateData(String call, int bytes, int mostBytes) throws VerbsException {
        if (bytes > mostBytes) {
            throw SharedMemoryErrors.invalid(call, "privateDataBytes=" + bytes,
                    "private data has at most " + mostBytes + " bytes here");
        }
    }

    @Override
    public void connect(ConnectionParameters parameters) throws VerbsException {
        RouteSearch found;
        synchronized (this) {
            require("rdma_connect", State.ROUTE_RESOLVED);
            checkedQueuePair("rdma_connect", parameters, MAX_REQUEST_BYTES);
            state = State.CONNECTING;
            found = search;
            search = null;
        }
        if (found != null) {
            try {
                found.route().connect(this, parameters);
            } catch (VerbsException e) {
                LOG.debug("[{}] connecting failed", localAddress(), e);
                failed(e.errorNumber());
            }
            return;
        }
        SharedMemoryIdentifier listener = fabric().ports.listener(remoteAddress());
        int refusal = listener == null ? NOBODY_LISTENS : connectInProcess(listener, parameters);
        if (refusal != 0) {
            rejected(refusal, NO_DATA);
        }
    }

    /** Takes the other end of a request that is about to be made; false if this is closed, or waits for none. */
    synchronized boolean partner(ConnectionPeer newPartner) {
        if (closed || state != State.CONNECTING) {
            return false;
        }
        partner = newPartner;
        return true;
    }

    /** The other end could not be asked, or did not live to answer. */
    private synchronized void failed(int errorNumber) {
        if (state == State.CONNECTING) {
            add(new ConnectionEvent.Failed("rdma_connect", errorNumber));
            state = State.ENDED;
        }
    }

    /** The device is gone. */
    void deviceRemoved() {
        SharedMemoryQueuePair own = queuePair();
        if (own != null) {
            own.fail();
        }
        synchronized (this) {
            state = State.ENDED;
            add(new ConnectionEvent.DeviceRemoved());
        }
    }

    /** The other end has gone, perhaps before it answered. */
    void partnerLost() {
        failed(Errno.ECONNRESET.number());
        disconnected();
    }

    /** 0, or why the request is refused. */
    private int connectInProcess(SharedMemoryIdentifier listener, ConnectionParameters parameters) {
        SharedMemoryIdentifier request = listener.newRequest(remoteAddress(), localAddress(), this, parameters);
        synchronized (this) {
            partner = request;
        }
        return listener.offer(request);
    }

    /** Makes the identifier of a request to this listener; no other thread knows of it yet. */
    SharedMemoryIdentifier newRequest(InetSocketAddress itsLocal, InetSocketAddress itsRemote,
            ConnectionPeer itsPartner, ConnectionParameters parameters) {
        InetSocketAddress own = localAddress();
        SharedMemoryIdentifier request = new SharedMemoryIdentifier(manager);
        synchronized (request) {
            request.local = LocalAddresses.sharing(itsLocal, own);
            request.remote = LocalAddresses.sharing(itsRemote, request.local);
            request.partner = itsPartner;
            request.asked = parameters;
            request.state = State.REQUESTED;
        }
        return request;
    }

    /**
     * Keeps a request of {@link #newRequest} until a handler gets it: 0, or the reason code if this no longer listens
     * or too many wait; then the request is forgotten.
     */
    synchronized int offer(SharedMemoryIdentifier request) {
        boolean listening = !closed && requests != null;
        if (!listening || !takeIn(request)) {
            fabric().identifiers.remove(request);
            return listening ? NO_RESOURCES : NOBODY_LISTENS;
        }
        try {
            add(new ConnectionEvent.ConnectRequest(request, request.asked));
            return 0;
        } catch (Throwable e) {
            requests.remove(request);
            fabric().identifiers.remove(request);
            throw e;
        }
    }

    @Override
    public void accept(ConnectionParameters parameters) throws VerbsException {
        SharedMemoryQueuePair own;
        synchronized (this) {
            require("rdma_accept", State.REQUESTED, State.ENDED);
            own = checkedQueuePair("rdma_accept", parameters, MAX_ANSWER_BYTES);
            if (state == State.ENDED) {
                throw partnerHasGone();
            }
            state = State.ACCEPTING;
        }
        establish(own, parameters);
        answer(own, parameters);
    }

    /**
     * Says that this end is connected, before the other end hears of it: so connections of one peer are established
     * here in the order in which that peer made them.
     */
    private void establish(SharedMemoryQueuePair own, ConnectionParameters parameters) throws VerbsException {
        boolean joined = false;
        try {
            joined = partner.join(own, asked, parameters);
        } finally {
            synchronized (this) {
                joined &= !partnerGone;
                state = joined ? State.CONNECTED : State.ENDED;
                if (joined) {
                    add(new ConnectionEvent.Established(asked));
                }
                asked = null; // no longer needed
            }
        }
        if (!joined) {
            throw partnerHasGone();
        }
    }

    private void answer(SharedMemoryQueuePair own, ConnectionParameters parameters) {
        if (!partner.accepted(own, parameters)) {
            disconnected();
        }
        boolean left;
        synchronized (this) {
            left = closed || state == State.ENDED;
        }
        if (left) {
            // The other end missed what was told before it knew of this connection.
            partner.disconnected();
        }
    }

    private VerbsException partnerHasGone() {
        return new VerbsException("rdma_accept", Errno.ECONNRESET, peerText());
    }

    /** The other end is of this process, too. */
    @Override
    public boolean join(SharedMemoryQueuePair theirs, ConnectionParameters request, ConnectionParameters answer) {
        SharedMemoryQueuePair own = queuePair();
        if (own != null) {
            own.connect(new LocalPeer(theirs), answer.receiverNotReadyRetryCount());
            theirs.connect(new LocalPeer(own), request.receiverNotReadyRetryCount());
        }
        return own != null;
    }

    @Override
    public boolean accepted(SharedMemoryQueuePair theirs, ConnectionParameters answer) {
        return accepted(new LocalPeer(theirs), answer);
    }

    /** The other end accepted the request of this one; false if this is closed, or does not wait for an answer. */
    synchronized boolean accepted(Peer peer, ConnectionParameters answer) {
        if (closed || state != State.CONNECTING) {
            return false;
        }
        queuePair.connect(peer, answer.receiverNotReadyRetryCount());
        answered(new ConnectionEvent.Established(answer));
        state = State.CONNECTED;
        return true;
    }

    /** The request of this one was refused: by the other end, or because there is none. */
    @Override
    public synchronized void rejected(int status, byte[] privateData) {
        if (status == NOBODY_LISTENS) {
            fabric().links.forgetRoute(remote);
        }
        if (state == State.CONNECTING) {
            answered(new ConnectionEvent.Rejected(status, privateData));
            state = State.ENDED;
        }
    }

    /** The other end has the request of this one. */
    @Override
    public synchronized void acknowledged() {
        if (state == State.CONNECTING) {
            add(new ConnectionEvent.RequestAcknowledged());
        }
    }

    /** The other end has gone. */
    @Override
    public synchronized void disconnected() {
        switch (state) {
            case CONNECTED -> {
                if (!closed) { // else no thread needs to wake for it
                    add(new ConnectionEvent.Disconnected());
                }
                state = State.ENDED;
            }
            case ACCEPTING -> partnerGone = true;
            case REQUESTED -> {
                state = State.ENDED;
                add(new ConnectionEvent.Disconnected());
            }
            default -> {}
        }
    }

    @Override
    public void acknowledge() {
        boolean waits;
        synchronized (this) {
            waits = state == State.REQUESTED && !closed;
        }
        if (waits) {
            partner.acknowledged();
        }
    }

    /** As {@link SharedMemoryProvider#isPeerStopped} says. */
    boolean isPeerStopped() {
        RouteSearch searching;
        ConnectionPeer asked;
        synchronized (this) {
            searching = search;
            asked = state == State.CONNECTING ? partner : null;
        }
        return searching != null && searching.isPeerStopped() || asked != null && asked.isStopped();
    }

    /** As {@link SharedMemoryProvider#peerUser} says. */
    synchronized OptionalInt peerUser() {
        if (partner == null) {
            return OptionalInt.empty();
        }
        return OptionalInt.of(partner instanceof RemotePeer peer ? peer.end.link.peerUser() : Link.ownUser());
    }

    @Override
    public void reject(byte[] privateData) throws VerbsException {
        synchronized (this) {
            require("rdma_reject", State.REQUESTED, State.ENDED);
            checkPrivateData("rdma_reject", privateData.length, MAX_REJECTION_BYTES);
            state = State.ENDED;
        }
        partner.rejected(CONSUMER_REJECTED, privateData.clone());
    }

    @Override
    public void disconnect() throws VerbsException {
        boolean first;
        synchronized (this) {
            require("rdma_disconnect", State.CONNECTED, State.ENDED);
            first = state == State.CONNECTED;
            state = State.ENDED;
        }
        SharedMemoryQueuePair own = queuePair();
        if (own != null) {
            own.fail();
        }
        if (first) {
            partner.disconnected();
            add(new ConnectionEvent.Disconnected());
        }
    }

    @Override
    public synchronized InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public synchronized InetSocketAddress remoteAddress() {
        return remote;
    }

    @Override
    public void close() {
        State last;
        RouteSearch searching;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            last = state;
            searching = search;
        }
        try {
            fabric().identifiers.remove(this);
            if (searching != null) {
                searching.close();
            }
            SharedMemoryQueuePair own = queuePair();
            if (own != null) {
                own.close();
            }
        } finally {
            try {
                leavePartner(last);
            } finally {
                awaitDispatched();
                leaveTable();
            }
        }
    }

    /** Tells the other end, if there is one, that this one is closed; tries again if there is no memory for that. */
    private void leavePartner(State last) {
        for (int left = TRIES;; left--) {
            try {
                tellPartner(last);
                return;
            } catch (Error e) {
                if (partner.leaveLater(last == State.REQUESTED, e)) {
                    manager.signal(); // the poller does it
                    return;
                }
                if (left == 0) {
                    throw e;
                }
                LibraryThreads.pause();
            }
        }
    }

    private void tellPartner(State last) {
        if (last == State.REQUESTED) {
            partner.rejected(CONSUMER_REJECTED, NO_DATA);
        } else if (partner != null) {
            partner.disconnected(); // also if all has ended: an Error may have cut this short before
        }
    }

    /** Gives the port back, and closes the requests that no handler got. */
    private void leaveTable() {
        PortTable.Claim held;
        List<SharedMemoryIdentifier> unserved = List.of();
        synchronized (this) {
            if (requests != null) {
                mostRequests = 0;
                unserved = List.copyOf(requests);
                requests.clear();
            }
            held = claim; // last: an Error leaves it for another try
            claim = null;
        }
        if (held != null) {
            fabric().ports.release(held);
        }
        unserved.forEach(SharedMemoryIdentifier::close);
    }
}
