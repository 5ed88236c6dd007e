package org.rdmasockets.internal.rpc.session;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.datagram.DatagramWays;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.rpc.call.ArrivingParts;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.Frame;
import org.rdmasockets.internal.rpc.call.Shares;

/**
 * All sessions of one datagram socket: a server's, or the one of a client. One virtual thread reads for all, another
 * keeps deadlines; senders send for themselves. A stranger's packet costs no more than a look at it.
 *
 * <p>Untaken data, mostly messages that are not whole, is bounded for all sessions together. Beyond that only the
 * session that has waited longest for a whole message is served in full; the others get messages of one packet, and
 * their other packets count as lost. A session that holds room for too long meanwhile is ended.
 */
public final class SessionHub {
    /** The payload of a packet over RoCE with the least MTU of an Ethernet, with its header there and for IPv6. */
    private static final int RDMA_PAYLOAD = 1000 - Packet.HEADER_BYTES;
    /** The same of one over UDP. */
    private static final int UDP_PAYLOAD = 1400;
    private static final int PACKET_BYTES = Packet.HEADER_BYTES + Packet.MOST_PAYLOAD;
    private static final int COOKIE_BYTES = 40;
    private static final long COOKIE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** How long a client tries to connect at most, and so how long a server keeps a session that is not confirmed. */
    static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_UNCONFIRMED = 1024;
    private static final int MAX_SESSIONS = 8192;
    private static final int WAITING_BYTES = 64 << 10;
    private static final long QUEUED_BYTES = 256 << 10;
    /** Longer messages go in parts, each in a packet where packets are as long: short messages go between them. */
    private static final int LEAST_PART_BYTES = 8 << 10;
    /** So many of a session take turns. */
    private static final int PLACES = 8;
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long LEAST_PARK = 200_000;
    /** The timer lists the sessions that are due within this time; it looks at all only when others are due. */
    private static final long SOON_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The least that all sessions together may hold, in bytes. */
    private static final long HELD_BYTES = 64L << 20;
    /** Likewise, in messages of the longest kind. */
    private static final int HELD_MESSAGES = 16;
    /** How long a session may hold room that others need before its message is whole. */
    private static final long HOLD_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** After so long without a sign of life, a client looks whether a program still has the server's port. */
    private static final int OVERDUE_MILLIS = 100;
    /** When a client first asks a silent server for a sign of life; each pause is twice the last, up to the longest. */
    private static final long LEAST_QUIET = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long MOST_QUIET = TimeUnit.SECONDS.toNanos(1);

    /** Not a channel: an interrupt of any thread that sends would close that. */
    private final DatagramSocket socket;
    private final boolean server;
    private final int maxMessage;
    private final long maxHeld;
    private final SecureRandom random = new SecureRandom();
    private final Mac mac;
    private final CallerLock lock = new CallerLock();
    /** Everything below is guarded by lock. */
    private final Map<Long, SessionCarrier> sessions = new HashMap<>();
    private final Map<Origin, SessionCarrier> origins = new HashMap<>();
    private final ArrayDeque<SessionCarrier> accepted = new ArrayDeque<>();
    private final Condition arrivals = lock.newCondition();
    private final Packet in = new Packet();
    private final Packet reply = new Packet();
    private final ByteBuffer out = ByteBuffer.allocate(PACKET_BYTES);
    /** A server's sessions by their address; newcomers until a packet has come. Null at a client. */
    private final Shares<SessionCarrier> shares;
    private boolean listening;
    private boolean closed;
    /** Why nothing is received any more. */
    private String reason = "the socket is closed";
    private volatile long dropped;
    /** Memory for the untaken data of all sessions, in bytes. */
    private long held;
    /** The session that has waited longest for a whole message; null if it has to be looked for. */
    private SessionCarrier oldest;
    /** When the timer looks next; written under lock. */
    private volatile long wakeAt = Long.MAX_VALUE;
    /** Sessions that the timer looks at whenever it looks; all others are due at this time at the earliest. */
    private SessionCarrier soon;
    private long lookAt = Long.MAX_VALUE;
    /** How often the time of a session was looked at. */
    private long looks;
    private final Thread timer;

    private record Origin(InetSocketAddress address, long client) {}

    private SessionHub(DatagramSocket socket, boolean server, int maxMessage, long maxHeld) throws IOException {
        this.socket = socket;
        if (socket instanceof RdmaDatagramSocket) {
            socket.setOption(DatagramWays.NEVER_WAITS, true); // senders have the lock of all sessions
        }
        this.server = server;
        this.maxMessage = (int) Math.min(Integer.MAX_VALUE, (long) maxMessage + Frame.MAX_OVERHEAD);
        this.maxHeld = maxHeld;
        listening = server;
        shares = server ? new Shares<>(MAX_SESSIONS, MAX_UNCONFIRMED) : null;
        try {
            mac = Mac.getInstance("HmacSHA256");
            byte[] secret = new byte[32];
            random.nextBytes(secret);
            mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        } catch (GeneralSecurityException e) {
            throw new IOException("no HMAC-SHA256 in this JVM", e);
        }
        Runnable loop = this::time;
        Runnable work = LibraryThreads.insisting(loop, LibraryThreads::report);
        String name = "rdma-rpc-session-timer";
        // A virtual thread that parks without memory for a timer never runs again: that must cost one session at most.
        timer = server ? LibraryThreads.unstarted(name, work) : LibraryThreads.unstartedVirtual(name, work);
    }

    /** Listens by a bound socket that is used for nothing else and ends with this; longer messages are refused. */
    public static Carrier.Listener listen(DatagramSocket socket, int maxMessage) throws IOException {
        return listen(socket, maxMessage, Math.max(HELD_BYTES, (long) HELD_MESSAGES * maxMessage));
    }

    /** Listens with another bound of what sessions hold. */
    static SessionListener listen(DatagramSocket socket, int maxMessage, long maxHeld) throws IOException {
        boolean listening = false;
        try {
            socket.setSoTimeout(0); // silence is no failure
            SessionHub hub = new SessionHub(socket, true, maxMessage, maxHeld);
            SessionListener listener = hub.new SessionListener((InetSocketAddress) socket.getLocalSocketAddress());
            hub.start();
            listening = true;
            return listener;
        } finally {
            if (!listening) {
                socket.close();
            }
        }
    }

    /** A server's hub as calls see it. */
    final class SessionListener implements Carrier.Listener {
        private final InetSocketAddress bound;

        private SessionListener(InetSocketAddress bound) {
            this.bound = bound;
        }

        @Override
        public Carrier accept() throws IOException {
            return SessionHub.this.accept();
        }

        @Override
        public InetSocketAddress localAddress() {
            return bound;
        }

        @Override
        public long dropped() {
            return dropped;
        }

        /** Sessions that have not ended; for tests. */
        int sessions() {
            return (int) locked(sessions::size);
        }

        /** Sessions that wait to be accepted; for tests. */
        int untaken() {
            return (int) locked(accepted::size);
        }

        /** How often a session's time was looked at; for tests. */
        long looks() {
            return locked(() -> looks);
        }

        /** Memory that untaken data takes, in bytes; for tests. */
        long heldBytes() {
            return locked(() -> held);
        }

        /** Serves what is due at a time, for tests; gives what is due next. */
        long serve(long now) {
            return locked(() -> serveDue(now));
        }

        private long locked(LongSupplier figure) {
            lock.lock();
            try {
                return figure.getAsLong();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void close() {
            stopListening();
        }
    }

    /**
     * Connects by a bound socket that is used for nothing else and ends with this; longer messages of a call are
     * refused. Throws {@code ConnectException} if no server answers in time, at once if no program has its port.
     */
    public static Carrier connect(DatagramSocket socket, InetSocketAddress to, int maxMessage, long limitNanos)
            throws IOException {
        boolean connected = false;
        try {
            SessionHub hub = new SessionHub(socket, false, maxMessage, Long.MAX_VALUE);
            if (socket instanceof RdmaDatagramSocket) {
                socket.connect(to); // so it hears of the end of the server's process
            }
            SessionCarrier carrier = hub.greet(to, System.nanoTime() + Math.min(limitNanos, CONNECT_NANOS));
            hub.start();
            if (socket instanceof RdmaDatagramSocket rdma && carrier.transport().equals(Transport.UDP.name())) {
                rdma.offerQueuePair(to);
            }
            connected = true;
            return carrier;
        } finally {
            if (!connected) {
                LibraryThreads.close(socket);
            }
        }
    }

    private void start() {
        lookAt = Long.MIN_VALUE; // a client has its session already
        timer.start();
        LibraryThreads.start("rdma-rpc-session-reader", new Reader());
    }

    // A client's handshake, before any other thread knows of it.

    private SessionCarrier greet(InetSocketAddress to, long deadlineNanos) throws IOException {
        long own = random.nextLong();
        byte[] cookie = new byte[COOKIE_BYTES];
        int kind = Packet.INIT;
        boolean opened = false;
        long waitMillis = 20;
        ByteBuffer buffer = ByteBuffer.allocate(PACKET_BYTES);
        while (true) {
            answer(kind, 0, own, cookie, to);
            socket.setSoTimeout((int) Math.max(1, Math.min(waitMillis,
                    TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime()))));
            long heard = System.nanoTime();
            kind = Packet.INIT; // a server that was started anew meanwhile does not know its cookie
            while (deadlineNanos - System.nanoTime() > 0 && hear(buffer, to) && in.receiver == own) {
                if (in.kind == Packet.COOKIE && in.payload.remaining() == COOKIE_BYTES) {
                    in.payload.get(cookie);
                    kind = Packet.OPEN;
                    opened = true;
                    break;
                }
                if (in.kind == Packet.RESET) {
                    throw new ConnectException("Connection refused: the server of calls at " + to
                            + " is shutting down");
                }
                if (in.kind == Packet.OPENED && opened) {
                    socket.setSoTimeout(0);
                    Session session = newSession(own, in.sender, to, System.nanoTime());
                    SessionCarrier carrier = new SessionCarrier(session, to, null);
                    carrier.heard(System.nanoTime());
                    sessions.put(own, carrier);
                    return carrier;
                }
            }
            if (System.nanoTime() - heard >= TimeUnit.MILLISECONDS.toNanos(waitMillis)) {
                waitMillis = Math.min(2 * waitMillis, 1000);
                if (isRefused(to)) {
                    throw new ConnectException("Connection refused: no program has the UDP port of " + to
                            + "; start the server there, with datagrams()");
                }
            }
            if (deadlineNanos - System.nanoTime() <= 0) {
                throw new ConnectException("no server of calls answers at " + to + " over datagrams");
            }
        }
    }

    /** Waits for a packet of the server, as long as the socket's timeout says; false if none has come. */
    private boolean hear(ByteBuffer buffer, InetSocketAddress from) throws IOException {
        DatagramPacket packet = new DatagramPacket(buffer.array(), buffer.capacity());
        try {
            socket.receive(packet);
        } catch (SocketTimeoutException | PortUnreachableException e) {
            return false;
        }
        return packet.getPort() == from.getPort() && in.read(buffer.clear().limit(packet.getLength()));
    }

    /**
     * Whether the kernel of the server's host says that no program has its port. A new socket asks by a first packet,
     * which a server answers and does not remember; to lie, a stranger would have to guess that socket's port. False
     * where shared memory leads to the server: then its port may be one of another network.
     */
    private boolean isRefused(InetSocketAddress to) {
        if (sentOver().equals(Transport.SHARED_MEMORY.name())) {
            return false;
        }
        Packet first = new Packet();
        first.kind = Packet.INIT;
        first.sender = random.nextLong();
        ByteBuffer buffer = ByteBuffer.allocate(PACKET_BYTES);
        first.write(buffer, new byte[COOKIE_BYTES], 0, COOKIE_BYTES);
        try (DatagramChannel channel = DatagramChannel.open()) {
            channel.connect(to);
            DatagramSocket asking = channel.socket();
            asking.setSoTimeout(OVERDUE_MILLIS);
            asking.send(new DatagramPacket(buffer.array(), buffer.limit(), to));
            asking.receive(new DatagramPacket(buffer.array(), buffer.capacity()));
            return false;
        } catch (PortUnreachableException e) {
            return true;
        } catch (IOException | RuntimeException e) {
            return false; // the host is silent, or cannot be asked
        }
    }

    /** Ends a client's session without a sign of life, if no program has the server's port any more. */
    private void look(SessionCarrier one) {
        if (isRefused(one.address) && isRefused(one.address)) { // one answer may be forged
            lock.lock();
            try {
                if (one.gone || one.overdueAt == Long.MAX_VALUE) {
                    return; // a packet has come meanwhile
                }
                one.session.fail("no program has the server's port " + one.address + " any more");
                one.pump(System.nanoTime());
            } finally {
                lock.unlock();
            }
        }
    }

    /** The name of the transport over which the last packet went: to the peer in hand, if this thread has the lock. */
    private String sentOver() {
        try {
            return socket instanceof RdmaDatagramSocket ? socket.getOption(DatagramWays.SENT_OVER)
                    : Transport.UDP.name();
        } catch (IOException e) {
            throw new IllegalStateException(e); // it asks no system
        }
    }

    // Packets in.

    /** The thread that receives; its parts are made before it starts, as an Error may come at any time. */
    private final class Reader implements Runnable {
        private final ByteBuffer buffer = ByteBuffer.allocate(PACKET_BYTES);
        private final DatagramPacket packet = new DatagramPacket(buffer.array(), buffer.capacity());
        private final Runnable loop = this::receiveAll;
        private final Runnable end = SessionHub.this::endAll;
        /** One after the other, but for want of memory, which ends no session. */
        private int failures;

        @Override
        public void run() {
            try {
                LibraryThreads.insist(loop);
            } finally {
                LibraryThreads.insist(end);
            }
        }

        private void receiveAll() {
            while (!socket.isClosed()) {
                try {
                    packet.setLength(buffer.capacity());
                    socket.receive(packet);
                    buffer.clear().limit(packet.getLength());
                    failures = 0;
                    lock.lock();
                    try {
                        receive(buffer, (InetSocketAddress) packet.getSocketAddress(), System.nanoTime());
                    } finally {
                        lock.unlock();
                    }
                } catch (IOException | RuntimeException | Error e) {
                    if (socket.isClosed()) {
                        return;
                    }
                    if (e instanceof PortUnreachableException && socket instanceof RdmaDatagramSocket) {
                        giveUp(e); // not from the network, where a stranger could have forged it
                        return;
                    }
                    failures += e instanceof OutOfMemoryError ? 0 : 1;
                    if (failures >= LibraryThreads.MOST_TRIES) {
                        giveUp(e);
                        return;
                    }
                    LibraryThreads.pause(); // memory may be back soon
                }
            }
        }
    }

    private void endAll() {
        lock.lock();
        try {
            closed = true;
            for (SessionCarrier one : sessions.values()) {
                one.session.fail(reason);
            }
            sessions.values().forEach(SessionCarrier::signal);
            arrivals.signalAll();
            LockSupport.unpark(timer);
        } finally {
            lock.unlock();
        }
    }

    private void giveUp(Throwable cause) {
        lock.lock();
        try {
            reason = "nothing is received any more: " + cause.getMessage();
            socket.close();
        } finally {
            lock.unlock();
        }
    }

    private void receive(ByteBuffer buffer, InetSocketAddress from, long now) {
        if (!in.read(buffer)) {
            dropped++;
            return;
        }
        if (in.kind < Packet.DATA) {
            if (server) {
                handshake(from, now);
            }
            return;
        }
        SessionCarrier carrier = sessions.get(in.receiver);
        if (carrier == null || carrier.session.peer != in.sender || !carrier.address.equals(from)) {
            dropped++;
            if (carrier == null && (in.kind == Packet.DATA || in.kind == Packet.PING)) {
                answerStranger(Packet.RESET, in.sender, in.receiver, new byte[0], from);
            }
            return;
        }
        if (in.kind == Packet.DATA && held >= maxHeld && oldest(now) != null && carrier != oldest
                && !carrier.session.isNextWhole(in)) {
            dropped++;
            in.kind = Packet.ACK; // its acknowledgements of packets the other way count
        }
        carrier.heard(now);
        try {
            carrier.session.receive(in, now);
            if (carrier.origin != null && !carrier.confirmed && in.kind != Packet.RESET) {
                confirm(carrier);
            }
        } catch (Error e) {
            carrier.session.fail("an error kept a packet from being taken in"); // half of it may be
        }
        carrier.account(now);
        carrier.pump(now);
    }

    private void confirm(SessionCarrier carrier) {
        shares.known(carrier.part, carrier);
        arrivals.signal();
        accepted.add(carrier); // an Error ends the session: its client makes a new one
        carrier.confirmed = true;
    }

    /** The session that has waited longest for a whole message, and may go on; lock held. */
    private SessionCarrier oldest(long now) {
        while (true) {
            if (oldest == null) {
                for (SessionCarrier one : sessions.values()) {
                    if (one.holds > 0 && (oldest == null || one.heldSince - oldest.heldSince < 0)) {
                        oldest = one;
                    }
                }
            }
            SessionCarrier found = oldest;
            if (found == null || now - found.heldSince < HOLD_NANOS) {
                return found;
            }
            found.session.fail("a message was not whole in time, and others need the room");
            found.account(now);
            found.pump(now);
            oldest = null;
        }
    }

    private void handshake(InetSocketAddress from, long now) {
        long client = in.sender;
        if (in.payload.remaining() != COOKIE_BYTES) {
            dropped++;
            return;
        }
        if (!listening) {
            dropped++;
            answerStranger(Packet.RESET, client, 0, new byte[0], from); // it is shorter than what it answers
            return;
        }
        if (in.kind == Packet.INIT) {
            answerStranger(Packet.COOKIE, client, 0, cookie(from, client, now), from);
            return;
        }
        byte[] shown = new byte[COOKIE_BYTES];
        in.payload.get(shown);
        long time = ByteBuffer.wrap(shown).getLong();
        if (in.kind != Packet.OPEN || now - time < 0 || now - time > COOKIE_NANOS
                || !MessageDigest.isEqual(shown, cookie(from, client, time))) {
            dropped++;
            return;
        }
        Origin origin = new Origin(from, client);
        SessionCarrier carrier = origins.get(origin);
        if (carrier == null) {
            Object address = Shares.address(from);
            SessionCarrier leaves = shares.excess(address);
            if (leaves != null) { // honest clients confirm at once, a flood does not
                leaves.session.fail("no client has confirmed it, and others need the room");
                leaves.pump(now);
                dropped++;
            }
            if (!shares.hasRoom(address)) {
                dropped++;
                return;
            }
            begin(origin, address, now);
        } else {
            answerStranger(Packet.OPENED, client, carrier.session.own, new byte[0], from);
        }
    }

    /** A session whose packets are as long as the way of the socket's last packet, which is its peer's, allows. */
    private Session newSession(long own, long peer, InetSocketAddress address, long now) {
        boolean near = sentOver().equals(Transport.SHARED_MEMORY.name()) && DatagramWays.isNear(address);
        int other = socket instanceof RdmaDatagramSocket ? RDMA_PAYLOAD : UDP_PAYLOAD;
        return new Session(own, peer, near ? Packet.MOST_PAYLOAD : other, maxMessage, WAITING_BYTES, now);
    }

    /** Makes a session that its client still has to confirm; nothing is left of one that cannot be made. */
    private void begin(Origin origin, Object address, long now) {
        long own = random.nextLong();
        while (sessions.containsKey(own)) {
            own = random.nextLong();
        }
        // First: since the client's packet has come, others may have gone over other ways.
        if (!answerStranger(Packet.OPENED, origin.client(), own, new byte[0], origin.address())) {
            return; // the client asks again
        }
        SessionCarrier carrier = new SessionCarrier(newSession(own, origin.client(), origin.address(), now),
                origin.address(), origin);
        carrier.endsAt = now + CONNECT_NANOS;
        boolean begun = false;
        try {
            carrier.part = shares.add(address, carrier);
            sessions.put(own, carrier);
            origins.put(origin, carrier);
            schedule(carrier);
            begun = true;
        } finally {
            if (!begun && carrier.part != null) {
                sessions.remove(own);
                origins.remove(origin);
                shares.remove(carrier.part, carrier);
                carrier.gone = true;
            }
        }
    }

    /** The time, and a code of address, client and time that only this hub can make. */
    private byte[] cookie(InetSocketAddress from, long client, long time) {
        byte[] address = from.getAddress().getAddress();
        mac.update(ByteBuffer.allocate(address.length + 20).put(address).putInt(from.getPort()).putLong(client)
                .putLong(time).flip());
        return ByteBuffer.allocate(COOKIE_BYTES).putLong(time).put(mac.doFinal()).array();
    }

    /**
     * Answers a stranger's packet. A failure only counts as a drop: the sender may have chosen an address that fails.
     */
    private boolean answerStranger(int kind, long receiver, long sender, byte[] payload, InetSocketAddress to) {
        try {
            answer(kind, receiver, sender, payload, to);
            return true;
        } catch (IOException | RuntimeException e) {
            dropped++;
            return false;
        }
    }

    private void answer(int kind, long receiver, long sender, byte[] payload, InetSocketAddress to) throws IOException {
        reply.kind = kind;
        reply.receiver = receiver;
        reply.sender = sender;
        reply.write(out, payload, 0, payload.length);
        transmit(to);
    }

    private void transmit(InetSocketAddress to) throws IOException {
        socket.send(new DatagramPacket(out.array(), out.limit(), to));
    }

    // Deadlines.

    private void time() {
        while (true) {
            long next;
            lock.lock(); // may use up the permit of an unpark
            try {
                next = serveDue(System.nanoTime());
                wakeAt = next;
                closed |= isUnused() || socket.isClosed();
                if (closed) {
                    socket.close(); // an Error may have cut that short
                    return;
                }
            } catch (RuntimeException | Error e) {
                lookAt = Long.MIN_VALUE;
                next = Long.MIN_VALUE; // again: no call need wake this thread
                wakeAt = next;
            } finally {
                lock.unlock();
            }
            if (next == Long.MIN_VALUE) {
                LibraryThreads.pause(); // no memory, perhaps, and then a park may have no end
            } else if (next == Long.MAX_VALUE) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, Math.max(LEAST_PARK, next - System.nanoTime()));
            }
        }
    }

    /** Serves the sessions whose time has come; returns when to do so again; lock held. */
    private long serveDue(long now) {
        if (lookAt <= now) {
            soon = null;
            lookAt = Long.MAX_VALUE;
            for (SessionCarrier one : sessions.values()) {
                one.isSoon = false;
                enter(one, now + SOON_NANOS);
            }
        }
        SessionCarrier rest = soon;
        soon = null;
        while (rest != null) {
            SessionCarrier one = rest;
            rest = one.nextSoon;
            one.isSoon = false;
            if (one.deadline() <= now) {
                one.pump(now);
            }
            enter(one, now + SOON_NANOS);
        }
        long next = lookAt;
        for (SessionCarrier one = soon; one != null; one = one.nextSoon) {
            next = Math.min(next, one.deadline());
        }
        return next;
    }

    /** Lists a session as due soon, or has all looked at by its time; lock held. */
    private void enter(SessionCarrier one, long soonUntil) {
        looks++;
        long at = one.deadline();
        if (!one.isSoon && at > soonUntil) {
            lookAt = Math.min(lookAt, at);
        } else if (!one.isSoon) {
            one.isSoon = true;
            one.nextSoon = soon;
            soon = one;
        }
    }

    /** Has a session served at its time, which may have changed; lock held. */
    private void schedule(SessionCarrier one) {
        long at = one.deadline();
        if (at < lookAt) {
            enter(one, at);
        }
        if (at < wakeAt) {
            wakeAt = at;
            LockSupport.unpark(timer);
        }
    }

    // A server's listener.

    private Carrier accept() throws IOException {
        lock.lock();
        try {
            while (accepted.isEmpty()) {
                if (!listening || closed) {
                    throw new IOException(listening ? reason : "the listener is closed");
                }
                arrivals.await();
            }
            return accepted.poll();
        } catch (InterruptedException e) {
            throw interrupted();
        } finally {
            lock.unlock();
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted");
    }

    private void stopListening() {
        lock.lock();
        try {
            listening = false;
            arrivals.signalAll();
            accepted.forEach(SessionCarrier::end); // no caller will take them
            accepted.clear();
            for (SessionCarrier one : List.copyOf(sessions.values())) {
                if (!one.confirmed) {
                    one.session.fail("the listener is closed"); // its client begins anew, and is refused
                    one.pump(System.nanoTime());
                }
            }
            closeIfUnused();
        } finally {
            lock.unlock();
        }
    }

    private boolean isUnused() {
        return !listening && sessions.isEmpty();
    }

    private void closeIfUnused() {
        if (isUnused()) {
            closed = true;
            try {
                socket.close();
            } finally {
                wakeAt = Long.MIN_VALUE;
                LockSupport.unpark(timer);
            }
        }
    }

    /** One session, as calls see it. */
    private final class SessionCarrier implements Carrier {
        private final Session session;
        private final InetSocketAddress address;
        /** That of the last packet to the peer; written under lock. */
        private volatile String transport = sentOver();
        /** Where a server's session came from, null at a client. */
        private final Origin origin;
        private final Condition readable = lock.newCondition();
        private final Condition writable = lock.newCondition();
        /** Threads that wait for it. */
        private int waiting;
        /** Its part of the server's room, null at a client. */
        private Shares.AddressPart<SessionCarrier> part;
        private boolean confirmed;
        private boolean closing;
        private boolean ended;
        /** Its part of {@link SessionHub#held}, and since when no message has become whole or was taken. */
        private long holds;
        private long heldSince;
        private long progress;
        /** When it is removed in any case, MAX_VALUE for never. */
        private long endsAt = Long.MAX_VALUE;
        /** It was removed. */
        private boolean gone;
        /** Whether it is due soon, and the next one that is. */
        private boolean isSoon;
        private SessionCarrier nextSoon;
        /** The thread that receives, or the next one, gets a {@code SocketTimeoutException}. */
        private boolean wakeup;
        /** At a client: when it asks for a sign of life, and when it asks again and looks; MAX_VALUE for never. */
        private long askAt = Long.MAX_VALUE;
        private long overdueAt = Long.MAX_VALUE;
        private long quietNanos = LEAST_QUIET;
        /** Where parts of messages go that arrive; null before the greetings. The receiving thread only. */
        private ArrivingParts parts;
        /** The peer takes messages in parts, of so many bytes. */
        private volatile boolean sendsParts;
        private final int partBytes;
        private final AtomicInteger lastNumber = new AtomicInteger();
        /** For messages in parts, one each: the peer has no more that are not whole. */
        private final Semaphore places = new Semaphore(PLACES, true);

        SessionCarrier(Session session, InetSocketAddress address, Origin origin) {
            this.session = session;
            this.address = address;
            this.origin = origin;
            partBytes = Math.max(session.payloadBytes, LEAST_PART_BYTES) - Frame.FIXED_BYTES;
        }

        private long deadline() {
            long own = confirmed || origin == null ? session.deadline() : Long.MAX_VALUE;
            return gone ? Long.MAX_VALUE : Math.min(Math.min(own, endsAt), Math.min(askAt, overdueAt));
        }

        /** A packet has come. */
        private void heard(long now) {
            if (!server) {
                askAt = now + quietNanos;
                overdueAt = Long.MAX_VALUE;
            }
        }

        /**
         * A client, before it sends: asks a silent server whether it is there. True if the server has not answered in
         * time: then the caller looks for it afterwards.
         */
        private boolean ask(long now) {
            boolean asks = askAt <= now;
            if (asks) {
                session.ask();
                askAt = Long.MAX_VALUE;
                quietNanos = Math.min(2 * quietNanos, MOST_QUIET);
            }
            if (overdueAt == Long.MAX_VALUE && (asks || !session.isSettled())) { // both are answered
                quietNanos = asks ? quietNanos : LEAST_QUIET;
                overdueAt = now + TimeUnit.MILLISECONDS.toNanos(OVERDUE_MILLIS);
            }
            if (overdueAt <= now) {
                overdueAt = now + quietNanos;
                quietNanos = Math.min(2 * quietNanos, MOST_QUIET);
                session.ask(); // goes over UDP once shared memory to the server has ended
                return true;
            }
            return false;
        }

        /** Counts what has arrived and was not taken, until it cannot be taken any more; lock held. */
        private void account(long now) {
            long before = holds;
            holds = gone && closing ? 0 : session.heldBytes();
            held += holds - before;
            if (before == 0 || progress != session.progress()) {
                progress = session.progress();
                heldSince = now;
            } else if (holds > 0 && !gone) {
                return;
            }
            if (oldest == this) {
                oldest = null;
            }
        }

        /** Sends what is due, and wakes threads whose wait has an end, also if an Error keeps it; lock held. */
        private void pump(long now) {
            try {
                sendDue(now);
            } finally {
                signal();
            }
        }

        /** Likewise, and wakes none. */
        private void sendDue(long now) {
            boolean looks = !server && !gone && ask(now);
            while (session.next(out, now)) {
                try {
                    transmit(address);
                    transport = sentOver();
                } catch (IOException e) {
                    dropped++; // as if the network had lost it
                }
            }
            if (looks) { // only now: the question has gone, and shows the transport
                LibraryThreads.start("rdma-rpc-session-look", () -> look(this));
            }
            boolean over = session.failure() != null || endsAt != Long.MAX_VALUE && !(confirmed && !closing)
                    && (endsAt - now <= 0 || closing && session.isSettled());
            if (over && sessions.remove(session.own) != null) {
                gone = true;
                if (origin != null) {
                    origins.remove(origin);
                    shares.remove(part, this);
                }
                session.fail(closing ? "this end is closed" : "no client has confirmed it");
                account(now);
                closeIfUnused();
            } else {
                if (confirmed && !closing) {
                    endsAt = Long.MAX_VALUE;
                }
                schedule(this);
            }
        }

        /** Wakes threads whose wait has an end; not those for which only a part of a message has come. Lock held. */
        private void signal() {
            boolean over = session.failure() != null || closing;
            if (over || wakeup || session.hasMessage() || session.hasPeerEnded()) {
                readable.signalAll();
            }
            if (over) {
                writable.signalAll();
            } else if (session.queuedBytes() <= QUEUED_BYTES) {
                writable.signal(); // it signals the next one
            }
        }

        private void await(Condition news, long untilNanos) throws IOException {
            try {
                if (untilNanos == Long.MAX_VALUE) {
                    news.await();
                } else {
                    long left = untilNanos - System.nanoTime();
                    if (left <= 0) {
                        throw new SocketTimeoutException("nothing has come in time");
                    }
                    news.awaitNanos(left);
                }
            } catch (InterruptedException e) {
                throw interrupted();
            }
        }

        @Override
        public void useParts(boolean peerTakesParts, ArrivingParts arriving) {
            parts = arriving;
            sendsParts = peerTakesParts;
        }

        @Override
        public boolean goesInParts(Frame frame) {
            return sendsParts && frame.messageBytes() > partBytes;
        }

        @Override
        public void send(Frame frame, long deadlineNanos) throws IOException {
            if (!goesInParts(frame) || NanoTimes.remaining(deadlineNanos) == 0) {
                sendWhole(frame, deadlineNanos);
                return;
            }
            boolean placed = false;
            try {
                placed = places.tryAcquire(NanoTimes.remaining(deadlineNanos), TimeUnit.NANOSECONDS);
                if (!placed) {
                    throw new SocketTimeoutException("other long messages have not gone in time");
                }
                sendWhole(sendParts(frame, deadlineNanos), deadlineNanos);
            } catch (InterruptedException e) {
                throw interrupted();
            } finally {
                places.release(placed ? 1 : 0);
            }
        }

        private void sendWhole(Frame frame, long deadlineNanos) throws IOException {
            byte[] message = new byte[frame.size()];
            frame.encode(ByteBuffer.wrap(message));
            send(message, !frame.isShort(), deadlineNanos);
        }

        /** Sends the parts of the message of a frame that have not gone yet; returns the frame that follows. */
        private Frame sendParts(Frame frame, long deadlineNanos) throws IOException {
            long begun = System.nanoTime();
            int number = frame.numberForParts(lastNumber);
            while (frame.partsBytes() < frame.messageBytes()) {
                int from = frame.partsBytes();
                int size = Math.min(partBytes, frame.messageBytes() - from);
                send(frame.part(number, from, size), true, deadlineNanos);
                frame.partsBytes(from + size); // where an interrupted sender goes on: see the peer's ArrivingParts
            }
            return frame.behindParts(number, TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - begun));
        }

        private void send(byte[] message, boolean waits, long deadlineNanos) throws IOException {
            lock.lock();
            try {
                if (waits) {
                    awaitRoom(deadlineNanos);
                }
                long now = System.nanoTime();
                session.expire(now); // before it has the message: then the peer never sees that
                ensureOpen();
                session.send(message);
                sendDue(now);
            } catch (Error e) {
                session.fail("an error kept a message from being sent"); // half of it may be
                throw e;
            } finally {
                try {
                    signal(); // the next sender, if there is room still
                } finally {
                    lock.unlock();
                }
            }
        }

        private void awaitRoom(long deadlineNanos) throws IOException {
            long taken = System.nanoTime(); // or this began
            boolean behind = waiting > 0; // those that wait go first: one has been signalled if there is room
            waiting++;
            try {
                while ((behind || session.queuedBytes() > QUEUED_BYTES) && session.failure() == null && !closing) {
                    taken = session.takenAt() - taken > 0 ? session.takenAt() : taken;
                    long stall = taken + STALL_NANOS;
                    boolean own = deadlineNanos != Long.MAX_VALUE && deadlineNanos - stall < 0;
                    try {
                        await(writable, own ? deadlineNanos : stall);
                        behind = false;
                    } catch (SocketTimeoutException e) {
                        if (own) {
                            throw e;
                        } else if (session.takenAt() - taken <= 0) {
                            throw new IOException("the peer has taken nothing for "
                                    + TimeUnit.NANOSECONDS.toSeconds(STALL_NANOS) + " s", e);
                        }
                    }
                }
            } finally {
                waiting--;
            }
        }

        private void ensureOpen() throws NotSentException {
            if (session.failure() != null || closing) {
                throw new NotSentException(session.failure() == null ? "this end is closed" : session.failure());
            }
        }

        @Override
        public Frame receive(long deadlineNanos) throws IOException {
            while (true) {
                ByteBuffer message = ByteBuffer.wrap(receiveMessage(deadlineNanos));
                Frame frame = parts == null ? Frame.decode(message) : parts.read(message);
                if (message.hasRemaining()) {
                    throw new IOException(message.remaining() + " bytes behind a frame that has to be alone");
                }
                if (frame != null) {
                    return frame;
                }
                if (NanoTimes.remaining(deadlineNanos) == 0) {
                    throw new SocketTimeoutException("only parts of a message have come in time");
                }
            }
        }

        private byte[] receiveMessage(long deadlineNanos) throws IOException {
            lock.lock();
            try {
                byte[] message = session.poll();
                while (message == null) {
                    ensureOpen();
                    if (session.hasPeerEnded()) {
                        throw new EOFException("the peer has closed its end");
                    }
                    if (wakeup) {
                        wakeup = false;
                        throw new SocketTimeoutException("the receiver was woken up before anything had come");
                    }
                    await(readable, deadlineNanos);
                    message = session.poll();
                }
                account(System.nanoTime());
                if (session.deadline() == Long.MIN_VALUE) {
                    pump(System.nanoTime()); // there is room again
                }
                return message;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void wakeup() {
            lock.lock();
            try {
                wakeup = true;
                signal();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public String transport() {
            return transport;
        }

        @Override
        public InetSocketAddress localAddress() {
            return (InetSocketAddress) socket.getLocalSocketAddress();
        }

        @Override
        public InetSocketAddress remoteAddress() {
            return address;
        }

        @Override
        public void close() {
            lock.lock();
            try {
                end();
            } finally {
                lock.unlock();
            }
        }

        /** Lock held. */
        private void end() {
            if (!ended) {
                long now = System.nanoTime();
                endsAt = closing ? endsAt : now + LINGER_NANOS;
                closing = true;
                session.end();
                pump(now);
                account(now);
                ended = true; // else a second close goes on
            }
        }
    }
}
